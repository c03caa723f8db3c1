// Elements of the page.

const SCROLLS = new Set([
  "ArrowUp",
  "ArrowDown",
  "ArrowLeft",
  "ArrowRight",
  "PageUp",
  "PageDown",
  "Home",
  "End",
  " ",
]);

/**
 * One element in one line; text is only ever text.
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
 * A control and its name: behind a check box, before anything else.
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
 * The element within a node that has the focus; null where it has not.
 * @param {HTMLElement} node
 */
export function focusedIn(node) {
  const { activeElement } = document;
  return activeElement instanceof HTMLElement && node.contains(activeElement)
    ? activeElement
    : null;
}

/**
 * The first element within a node that a selector means; null where there is none.
 * @param {Element} node
 * @param {string} selector
 * @returns {HTMLElement | null}
 */
export function elementIn(node, selector) {
  return node.querySelector(selector);
}

/**
 * The first element within a node that a selector means, of which there always is one.
 * @param {Element} node
 * @param {string} selector
 */
export function partOf(node, selector) {
  const part = elementIn(node, selector);
  if (!part) throw new Error(`nbtrain's page lacks ${selector}.`);
  return part;
}

/**
 * The context that draws on a canvas. A browser refuses it only to a canvas drawn on in three
 * dimensions.
 * @param {HTMLCanvasElement} canvas
 */
export function contextOf(canvas) {
  return /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
}

/**
 * Removes the elements of a node beyond the first so many.
 * @param {Element} node
 * @param {number} count
 */
export function shorten(node, count) {
  for (const child of [...node.children].slice(count)) child.remove();
}

/**
 * Sets a text, and hides the element when there is none. Leaves an element alone if it is right.
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
 * A region with scroll bars of its own, also for the keyboard: the notebook has its own meaning
 * for the keys that scroll.
 * @param {string} kind its class
 * @param {string} label
 * @param {HTMLElement[]} [children]
 */
export function scroller(kind, label, children = []) {
  const node = el("div", {
    class: kind,
    role: "region",
    tabindex: 0,
    "aria-label": label,
    children,
  });
  node.addEventListener("keydown", (event) => SCROLLS.has(event.key) && event.stopPropagation());
  return node;
}
