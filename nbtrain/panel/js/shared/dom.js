// Elements of the page.

const SIDEWAYS = ["ArrowLeft", "ArrowRight"];
const SCROLLS = [...SIDEWAYS, "ArrowUp", "ArrowDown", "PageUp", "PageDown", "Home", "End", " "];

/**
 * Creates an element. Its text is never parsed as HTML.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {{text?: string, children?: (Node | string)[], [attribute: string]: any}} [how]
 * @returns {HTMLElementTagNameMap[T]}
 */
export function el(tag, { text, children = [], ...attributes } = {}) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text !== undefined) node.textContent = text;
  node.append(...children);
  return node;
}

/**
 * A button; act: called on a click.
 * @param {Parameters<typeof el>[1]} how
 * @param {() => unknown} act
 */
export function button(how, act) {
  const node = el("button", { type: "button", ...how });
  node.addEventListener("click", act);
  return node;
}

/**
 * A label with a control and its name, which stands after a check box and before any other control.
 * @param {string} text
 * @param {HTMLInputElement | HTMLSelectElement} control
 * @param {Parameters<typeof el>[1]} [how]
 */
export function labelled(text, control, how = {}) {
  const name = el("span", { text });
  const children = control.type === "checkbox" ? [control, name] : [name, control];
  return el("label", { class: "nbt-field", ...how, children });
}

/**
 * The element within a node that has the focus; null if the focus is elsewhere.
 * @param {HTMLElement} node
 */
export function focusedIn(node) {
  const { activeElement } = /** @type {Document | ShadowRoot} */ (node.getRootNode()); // marimo shows a view in a shadow
  return activeElement instanceof HTMLElement && node.contains(activeElement)
    ? activeElement
    : null;
}

/**
 * The first element within a node that matches a selector; null if there is none.
 * @param {Element} node
 * @param {string} selector
 * @returns {HTMLElement | null}
 */
export function elementIn(node, selector) {
  return node.querySelector(selector);
}

/**
 * The first element within a node that matches a selector; an error if there is none.
 * @param {Element} node
 * @param {string} selector
 */
export function partOf(node, selector) {
  const part = elementIn(node, selector);
  if (!part) throw new Error(`nbtrain's page lacks ${selector}.`);
  return part;
}

/**
 * The 2D context of a canvas. It is null only for a canvas that has a context of another kind.
 * @param {HTMLCanvasElement} canvas
 */
export function contextOf(canvas) {
  return /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
}

/**
 * Removes all but the first `count` children of a node.
 * @param {Element} node
 * @param {number} count
 */
export function shorten(node, count) {
  for (const child of [...node.children].slice(count)) child.remove();
}

/**
 * Sets the text of an element, which is hidden without a text. An equal text is not set again, so that a
 * selection stays.
 * @param {HTMLElement} node
 * @param {string | null | undefined} text
 */
export function say(node, text) {
  const wanted = text ?? "";
  if (node.textContent !== wanted) node.textContent = wanted;
  node.hidden = wanted === "";
}

/**
 * A button that shows and hides an element.
 * @param {string} text
 * @param {HTMLElement} node
 */
export function unfolding(text, node) {
  const expanded = String(!node.hidden);
  const toggle = button({ text, "aria-expanded": expanded, "data-act": text }, () => {
    node.hidden = !node.hidden;
    toggle.setAttribute("aria-expanded", String(!node.hidden));
  });
  return toggle;
}

/**
 * A region that scrolls by itself, also by keys that mean something else to the notebook.
 * @param {string} kind its class
 * @param {string} label
 * @param {HTMLElement[]} [children]
 * @param {{sideways?: boolean}} [how] sideways: whether it scrolls only to the left and right
 */
export function scroller(kind, label, children = [], { sideways = false } = {}) {
  const keys = sideways ? SIDEWAYS : SCROLLS;
  const node = el("div", {
    class: kind,
    role: "region",
    tabindex: 0,
    "aria-label": label,
    children,
  });
  node.addEventListener("keydown", (event) => keys.includes(event.key) && event.stopPropagation());
  return node;
}
