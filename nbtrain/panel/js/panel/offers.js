// Buttons for what can be done about some marks, and what became of it.

import { el, elementIn, focusedIn, say } from "../shared/dom.js";
import { glyph, titled } from "./marks.js";

/** @import { Action, Receipt } from "../protocol.d.ts" */
/** @import { Mark } from "../types.d.ts" */
/** @import { Clicks } from "./clicks.js" */

const WAITS = "…"; // in the place of an answer
const APPLIED = "✓"; // before one

export class Offers {
  /**
   * state: gives what there is now, and since when the kernel is silent. heads: whether each mark
   * is told above its buttons. retreat: gets the focus of a button that is there no more. done:
   * called when what was chosen has been applied, all of it.
   * @param {Clicks} clicks
   * @param {() => {silentSince: string | null}} state
   * @param {{heads: boolean, retreat: HTMLElement, done?: () => void}} more
   */
  constructor(clicks, state, { heads, retreat, done = () => {} }) {
    this.clicks = clicks;
    this.state = state;
    this.heads = heads;
    this.retreat = retreat;
    this.done = done;
    this.shown = "[]";
    /** @type {string[]} */
    this.told = [];
    this.from = 0; // the first of them that was chosen since all were answered
    this.list = el("div");
    this.answers = el("div", { class: "nbt-answers", role: "status", "data-role": "answers" });
    say(this.answers, "");
  }

  /**
   * Show what can be done about these marks. What several offer, the first does. The focus stays
   * where it is.
   * @param {Mark[]} marks
   */
  show(marks) {
    const { silentSince } = this.state();
    const offered = new Set();
    /** @param {Action} action */
    const isNew = ([text, , more]) => offered.size < offered.add(JSON.stringify([text, more])).size;
    const items = marks.map((mark) => ({ mark, actions: mark.actions.filter(isNew) }));
    const shown = JSON.stringify([items, silentSince]);
    if (shown === this.shown) return;
    this.shown = shown;
    const silent = silentSince && `no word from the kernel since ${silentSince}`;
    const focused = focusedIn(this.list)?.dataset.offer;
    this.list.replaceChildren(
      ...items.map(({ mark, actions }) => this.#item(mark, actions, silent)),
    );
    if (focused)
      (
        elementIn(this.list, `[data-offer="${CSS.escape(focused)}"]:enabled`) ?? this.retreat
      ).focus();
  }

  // Answers that are on their way are not told any more.
  clear() {
    this.told = [];
    say(this.answers, "");
  }

  /**
   * A reason that is the next one's as well is told there.
   * @param {Mark} mark
   * @param {Action[]} actions
   * @param {string | null} silent
   */
  #item(mark, actions, silent) {
    const title = el("div", { class: "nbt-tip-head", text: `${glyph(mark)} ${titled(mark)}` });
    const head = this.heads ? [title, ...(mark.text ? [el("div", { text: mark.text })] : [])] : [];
    const reasons = actions.map(([, , , reason]) => silent ?? reason);
    const rows = actions.map((action, i) => {
      const reason = reasons[i] === reasons[i + 1] ? null : reasons[i];
      return el("div", {
        class: "nbt-offer",
        children: [
          this.#button(mark, action, reasons[i] !== null),
          ...(reason ? [el("span", { class: "nbt-soft", text: reason })] : []),
        ],
      });
    });
    return el("section", { tabindex: -1, children: [...head, ...rows] });
  }

  /**
   * @param {Mark} mark
   * @param {Action} action
   * @param {boolean} disabled
   */
  #button(mark, action, disabled) {
    const [text, command, more] = action;
    const button = el("button", { type: "button", text, "data-offer": `${key(mark)} ${text}` });
    if ("halve" in more)
      button.title = `Half of the ${more.halve} of the checkpoint or, where it is less, of what it is now.`;
    button.disabled = disabled;
    button.addEventListener("click", () => this.clicks.of(command) || this.#choose(action));
    return button;
  }

  /**
   * What is chosen before the others are answered is done when all of it is.
   * @param {Action} action
   */
  #choose([, command, more]) {
    const { told } = this;
    if (!told.includes(WAITS)) this.from = told.length;
    const place = told.push(WAITS) - 1;
    this.#tell(told);
    this.clicks.post(/** @type {any} */ ({ command, ...more }), (receipt) => {
      told[place] = answer(command, receipt);
      this.#tell(told);
    });
  }

  /** @param {string[]} told */
  #tell(told) {
    if (told !== this.told) return;
    say(this.answers, told.join("\n"));
    if (told.slice(this.from).every((text) => text.startsWith(APPLIED))) this.done();
  }
}

/** @param {Mark} mark */
export const key = ({ event, step, place, wall }) => `${event} ${step} ${place} ${wall}`;

/**
 * @param {string} command
 * @param {Receipt} [receipt]
 */
function answer(command, receipt) {
  if (!receipt)
    return `${command}: what became of it is not known; the panel shows how the run stands`;
  return `${receipt.state === "applied" ? APPLIED : "✕"} ${receipt.text}`;
}
