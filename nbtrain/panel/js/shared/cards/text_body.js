// The text of a step, as Markdown (as in TensorBoard) or plain. Nothing in it can run: HTML stays text,
// nothing is loaded, and a link only opens another page.

import { el, say } from "../dom.js";
import { markdown } from "./markdown.js";

/** @import { Text as Texts } from "../../protocol.d.ts" */
/** @import { Body, BodyCard } from "./body.d.ts" */

export class TextBody {
  static option = { text: "plain", title: "Show the source of the text, not its Markdown" };

  /** @param {BodyCard} card */
  constructor(card) {
    this.card = card;
    /** @type {string[][] | null} */
    this.rows = null;
    this.table = false;
    this.note = el("div", { class: "nbt-soft", hidden: "" });
    this.text = el("div", {
      class: "nbt-text",
      tabindex: 0,
      role: "region",
      "aria-label": `text of ${card.tag} in ${card.runTitle}`,
    });
    this.root = el("div", { children: [this.text, this.note] });
  }

  /** @type {Body<Texts>["show"]} */
  show({ rows, table, note }) {
    this.rows = rows;
    this.table = table;
    say(this.note, note);
    this.choose();
  }

  choose() {
    if (!this.rows) return;
    const cell = this.card.page.option ? plain : markdown;
    const rows = this.rows.map((row) =>
      el("tr", { children: row.map((text) => el("td", { children: [cell(text)] })) }),
    );
    this.text.replaceChildren(
      this.table
        ? el("table", { children: [el("tbody", { children: rows })] })
        : cell(this.rows[0][0]),
    );
  }

  clear() {
    this.rows = null;
    this.text.replaceChildren();
  }
}

/** @param {string} text */
function plain(text) {
  return el("pre", { text });
}
