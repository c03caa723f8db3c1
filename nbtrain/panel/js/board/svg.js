// Elements of a drawing.

const NAMESPACE = "http://www.w3.org/2000/svg";

/**
 * Creates an element. Its text is never parsed.
 * @template {keyof SVGElementTagNameMap} T
 * @param {T} tag
 * @param {{text?: string, children?: Node[], [attribute: string]: any}} [how]
 * @returns {SVGElementTagNameMap[T]}
 */
export function svg(tag, { text, children = [], ...attributes } = {}) {
  const node = document.createElementNS(NAMESPACE, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, String(value));
  if (text !== undefined) node.textContent = text;
  node.append(...children);
  return node;
}
