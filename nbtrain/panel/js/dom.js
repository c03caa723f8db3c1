// One element in one line; text is only ever text.

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
  const button = el("button", { type: "button", text, "aria-expanded": String(!node.hidden), "data-act": text });
  button.addEventListener("click", () => {
    node.hidden = !node.hidden;
    button.setAttribute("aria-expanded", String(!node.hidden));
  });
  return button;
}
