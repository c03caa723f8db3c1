// Shows Markdown as elements that are created one by one. HTML in a text is never parsed.

import MarkdownIt from "markdown-it";
import { el } from "../dom.js";
import { lastOf } from "../collections.js";

/** @import { Token } from "markdown-it" */

const LINK = /^(https?|mailto):/i;
const parser = new MarkdownIt({ html: false, linkify: false }).disable("image");
parser.validateLink = (url) => LINK.test(url);

/**
 * Returns an element that shows a text.
 * @param {string} text
 */
export function markdown(text) {
  const root = el("div", { class: "nbt-markdown" });
  fill(root, parser.parse(text, {}));
  return root;
}

/**
 * Tokens have the order of the document. A nesting of 1 opens an element, -1 closes it.
 * @param {HTMLElement} root
 * @param {Token[]} tokens
 */
function fill(root, tokens) {
  const open = [root];
  for (const token of tokens) {
    const within = lastOf(open);
    if (token.nesting < 0) {
      if (!token.hidden) open.pop();
    } else if (token.type === "inline") {
      fill(within, token.children ?? []);
    } else if (token.nesting > 0) {
      if (token.hidden) continue; // the paragraphs of a tight list
      const inner = element(token);
      within.append(inner);
      open.push(inner);
    } else {
      within.append(leaf(token));
    }
  }
}

/** @param {Token} token */
function element({ type, tag, attrs }) {
  const { href, style, start } = Object.fromEntries(attrs ?? []);
  if (type === "link_open")
    return el("a", { href, target: "_blank", rel: "noopener noreferrer", title: href });
  const name = /** @type {keyof HTMLElementTagNameMap} */ (tag);
  return el(name, { ...(style ? { style } : {}), ...(start ? { start } : {}) });
}

/** @param {Token} token */
function leaf({ type, content }) {
  if (type === "fence" || type === "code_block")
    return el("pre", { children: [el("code", { text: content })] });
  if (type === "code_inline") return el("code", { text: content });
  if (type === "hardbreak") return el("br");
  if (type === "hr") return el("hr");
  if (type === "softbreak") return "\n";
  return content;
}
