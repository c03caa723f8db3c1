// One element in one line; text is only ever text.

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

export function el(tag, { text, children = [], ...attributes } = {}) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text !== undefined) node.textContent = text;
  node.append(...children);
  return node;
}

// Set a text, and hide the element when there is none; leaves what is right untouched.
export function say(node, text) {
  const wanted = text ?? "";
  if (node.textContent !== wanted) node.textContent = wanted;
  node.hidden = wanted === "";
}

// A button that shows and hides an element.
export function unfolding(text, node) {
  const button = el("button", {
    type: "button",
    text,
    "aria-expanded": String(!node.hidden),
    "data-act": text,
  });
  button.addEventListener("click", () => {
    node.hidden = !node.hidden;
    button.setAttribute("aria-expanded", String(!node.hidden));
  });
  return button;
}

// A region with scroll bars of its own, also for the keyboard: the notebook has its own meaning
// for the keys that scroll.
export function scroller(label, children) {
  const node = el("div", {
    class: "nbt-sheet",
    role: "region",
    tabindex: 0,
    "aria-label": label,
    children,
  });
  node.addEventListener("keydown", (event) => SCROLLS.has(event.key) && event.stopPropagation());
  return node;
}
