// The outcome of the newest trial of several values: its text, a table, and a button for each choice.
// It stays until the next command.

import { el, say } from "../shared/dom.js";
import { ActionList } from "./action_list.js";
import { resultIn } from "./arms.js";

/** @import { TrialTable } from "../protocol.d.ts" */
/** @import { Clicks } from "./clicks.js" */
/** @import { Mark } from "./marks.js" */

export class TrialResult {
  /**
   * clicks, state: see action_list.js.
   * @param {Clicks} clicks
   * @param {() => {marks: Mark[], silentSince: string | null}} state
   */
  constructor(clicks, state) {
    this.state = state;
    this.shown = "";
    this.text = el("div", { class: "nbt-result-text" });
    this.table = el("table");
    this.root = el("section", {
      class: "nbt-result",
      role: "group",
      "aria-label": "the outcome of the trial",
      tabindex: -1,
      "data-role": "trial-result",
    });
    this.actions = new ActionList(clicks, state, { heads: false, retreat: this.root });
    this.root.append(this.text, this.table, this.actions.list, this.actions.answers);
  }

  show() {
    const mark = resultIn(this.state().marks);
    this.root.hidden = !mark;
    if (!mark?.trial) return;
    // An equal table is not replaced, so that a selection in it stays.
    const shown = JSON.stringify([mark.number, mark.wall]);
    if (shown !== this.shown) {
      this.shown = shown;
      this.actions.clear();
      say(this.text, mark.text);
      this.table.replaceChildren(...rowsOf(mark.trial));
    }
    const choices = mark.actions.filter(([, command]) => command === "set");
    this.actions.show([{ ...mark, actions: choices }]);
  }
}

/**
 * @param {TrialTable} trial
 */
function rowsOf({ tag, rows, kept, more }) {
  if (!rows.length) return [];
  const heads = ["values", `${tag} before`, "after", "difference", "spread", "note"];
  const has = [0, 1, 2, 3, 4, 5].filter((i) => i < 4 || rows.some((row) => row[i]));
  /** @type {(kind: "th" | "td", cells: readonly (string | null)[]) => HTMLElement} */
  const line = (kind, cells) =>
    el("tr", { children: has.map((i) => el(kind, { text: cells[i] ?? "" })) });
  const body = rows.map((row) => line("td", row));
  if (kept !== null) body[kept].className = "nbt-kept";
  const rest = more ? [el("tr", { children: [el("td", { text: `and ${more} more` })] })] : [];
  return [
    el("thead", { children: [line("th", heads)] }),
    el("tbody", { children: [...body, ...rest] }),
  ];
}
