// The page that compares the drawn runs: a table, and their curves below.

import { CompareTable } from "../table/compare_table.js";
import { el, labelled, say } from "../../shared/dom.js";
import { Latest } from "../latest.js";
import { fitsOf } from "../fits.js";
import { ScalarsPage } from "./scalars_page.js";
import { sideBySide } from "../table/side_by_side.js";

/** @import { Board } from "../board.js" */
/** @import { Reply } from "../board_connection.js" */
/** @import { ComparisonOptions } from "../table/compare_table.js" */
/** @import { Comparison } from "../table/side_by_side.js" */
/** @import { NameTest } from "../tags.js" */
/** @import { Page } from "./pages.js" */

const MOST = 1000; // up to so many tags are requested at once, whatever the filter
const FEW = "Check two or more runs in the list to compare them.";

export class ComparePage {
  /** @type {Comparison | null} */
  there = null;
  few = false;
  look = ""; // identifies the drawn contents
  refused = "";
  /** @type {ComparisonOptions} */
  options = { base: null, same: false, extent: false };
  /** @type {NameTest} */
  matches = () => true;
  base = el("select", { "data-role": "baseline" });
  words = el("div", {
    class: "nbt-notice",
    role: "status",
    "data-role": "compare-words",
    hidden: "",
  });

  /** @param {Board} board */
  constructor(board) {
    this.board = board;
    this.latest = new Latest(board.connection, (answer) => this.#take(answer));
    this.table = new CompareTable(board);
    this.base.addEventListener("change", () => this.#choose({ base: this.base.value || null }));
    this.scalars = new ScalarsPage(board);
    const choices = [
      labelled("baseline", this.base, {
        title: "Show the differences of the other runs from this one",
      }),
      this.#toggle(
        "same",
        "equal hyperparameters",
        "Also show the hyperparameters that are equal in all runs",
      ),
      this.#toggle(
        "extent",
        "min, max and best step",
        "Also show the lowest and the highest value and the best step",
      ),
    ];
    const line = el("div", { class: "nbt-sheet-tools", children: choices });
    this.body = el("div", {
      class: "nbt-compare",
      children: [line, this.table.root, this.scalars.root],
    });
    this.root = el("div", {
      class: "nbt-page",
      "data-role": "compare",
      children: [this.words, this.body],
    });
    this.tools = this.scalars.tools;
  }

  /** @type {Page["show"]} */
  show(index, chosen, matches) {
    const runs = index.runs.filter(chosen);
    this.matches = matches;
    this.few = fitsOf(runs, this.board.connection.fitOf).size < 2;
    const tags = index.tags.length > MOST ? index.tags.filter(matches).slice(0, MOST) : null;
    if (!this.few) this.latest.want({ t: "compare", runs, tags }, index.version);
    const count = this.scalars.show(index, chosen, matches);
    this.#draw();
    return count;
  }

  /** @param {string | null} run */
  highlight(run) {
    this.scalars.highlight(run);
  }

  retheme() {
    this.scalars.retheme();
    this.#draw();
  }

  axisChanged() {
    this.scalars.axisChanged();
  }

  close() {
    this.scalars.close();
  }

  /** @param {Reply} answer */
  #take({ content, buffers }) {
    this.refused = content.t === "refused" ? content.text : "";
    if (content.t === "compare") {
      this.there = sideBySide(content, buffers[0], this.board.connection.fitOf);
    }
    this.#draw();
  }

  // Shows the charts only with the table, which would otherwise push them down.
  #draw() {
    say(this.words, this.few ? FEW : this.refused);
    const { few, there } = this;
    this.body.hidden = few || !there;
    if (few || !there) return;
    const scalars = there.scalars.filter(({ tag }) => this.matches(tag));
    const look = JSON.stringify([
      this.latest.known,
      scalars.map(({ tag }) => tag),
      this.options,
      this.board.paint(),
    ]);
    if (this.look === look) return;
    this.look = look;
    this.#offerBase(there);
    this.table.show({ ...there, scalars }, this.options);
  }

  /**
   * Lists the baselines. A chosen one stays while its run is not compared.
   * @param {Comparison} there
   */
  #offerBase({ fits }) {
    const { base } = this.options;
    const offered = [["", "none"], ...fits.map(({ lead, name }) => [lead, name])];
    if (base && offered.every(([lead]) => lead !== base))
      offered.push([base, this.board.connection.fits.get(base)?.name ?? base]);
    this.base.replaceChildren(
      ...offered.map(([value, name]) =>
        el("option", { value, text: this.board.nameOf(name), title: name }),
      ),
    );
    this.base.value = base ?? "";
  }

  /** @param {Partial<ComparisonOptions>} changes */
  #choose(changes) {
    Object.assign(this.options, changes);
    this.#draw();
  }

  /**
   * @param {"same" | "extent"} name
   * @param {string} text
   * @param {string} title
   */
  #toggle(name, text, title) {
    const box = el("input", { type: "checkbox", "data-role": name });
    box.addEventListener("change", () => this.#choose({ [name]: box.checked }));
    return labelled(text, box, { title });
  }
}
