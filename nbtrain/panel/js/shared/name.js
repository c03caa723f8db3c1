// Names in one line: without room their middle is left out, because names of one kind differ at their ends.

import { el } from "./dom.js";

const END = 10; // characters that are always shown, unless they are very wide
const SHORT = 16; // characters of a name that is not divided

/**
 * A name in one line, whole on hover.
 * @param {string} text
 * @param {{class: string, title?: string}} how
 */
export function named(text, { class: kind, title = text }) {
  const all = [...text];
  if (all.length <= SHORT) return el("span", { class: kind, text, title });
  const parts = [all.slice(0, -END), all.slice(-END)].map((part) =>
    el("span", { text: part.join("") }),
  );
  const root = el("span", { class: `${kind} nbt-cut`, title, children: parts });
  root.addEventListener("copy", copyOnOneLine);
  return root;
}

/**
 * Copies without the line break that browsers put between the parts.
 * @param {ClipboardEvent} event
 */
function copyOnOneLine(event) {
  const selection = getSelection();
  if (!selection || !event.clipboardData) return;
  const { currentTarget: root } = event;
  if (
    ![selection.anchorNode, selection.focusNode].every((node) =>
      /** @type {Node} */ (root).contains(node),
    )
  )
    return;
  event.clipboardData.setData("text/plain", selection.toString().replaceAll("\n", ""));
  event.preventDefault();
}
