// Buttons for the actions of marks, and their answers.

import { button, el, elementIn, focusedIn, say } from "../shared/dom.js";
import { DOING } from "./command_words.js";
import { titleOf } from "./marks.js";

/** @import { Action, Receipt } from "../protocol.d.ts" */
/** @import { Clicks } from "./clicks.js" */
/** @import { Mark } from "./marks.js" */

const WAITING = "…"; // until the answer comes
const APPLIED = "✓"; // before the answer

export class ActionList {
  /**
   * state: returns the time of the last message of a silent kernel, or null. heads: whether each mark is
   * described above its buttons. retreat: gets the focus if the focused button is removed. done: called
   * when all chosen actions have been applied.
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
    this.texts = [];
    this.from = 0; // the first answer after those that were complete
    this.list = el("div");
    this.answers = el("div", { class: "nbt-answers", role: "status", "data-role": "answers" });
    say(this.answers, "");
  }

  /**
   * Shows the actions of these marks. An action of several marks is shown with the first of them. The
   * focus stays where it is.
   * @param {Mark[]} marks
   */
  show(marks) {
    const { silentSince } = this.state();
    const listed = new Set();
    /** @param {Action} action */
    const isNew = ([text, , more]) => listed.size < listed.add(JSON.stringify([text, more])).size;
    const items = marks.map((mark) => ({ mark, actions: mark.actions.filter(isNew) }));
    const waiting = ["restore", "set", "why_nan"].filter((command) => this.clicks.of(command));
    const shown = JSON.stringify([items, silentSince, waiting]);
    if (shown === this.shown) return;
    this.shown = shown;
    const silent = silentSince && `no word from the kernel since ${silentSince}`;
    const focused = focusedIn(this.list)?.dataset.action;
    this.list.replaceChildren(
      ...items.map(({ mark, actions }) => this.#item(mark, actions, silent)),
    );
    if (focused)
      (
        elementIn(this.list, `[data-action="${CSS.escape(focused)}"]:enabled`) ?? this.retreat
      ).focus();
  }

  // Removes the answers; later ones are ignored.
  clear() {
    this.texts = [];
    say(this.answers, "");
  }

  /**
   * Shows a reason once for neighbouring actions, beside the last of them. A button that waits for
   * another answer stays in the tab order.
   * @param {Mark} mark
   * @param {Action[]} actions
   * @param {string | null} silent
   */
  #item(mark, actions, silent) {
    const title = el("div", { class: "nbt-tip-head", text: `${mark.glyph} ${titleOf(mark)}` });
    const head = this.heads ? [title, ...(mark.text ? [el("div", { text: mark.text })] : [])] : [];
    const against = actions.map(([, , , reason]) => silent ?? reason);
    const waiting = actions.map(([, command]) => this.clicks.of(command) && DOING[command]);
    const reasons = against.map((reason, i) => reason ?? waiting[i]);
    const rows = actions.map((action, i) => {
      const reason = reasons[i] === reasons[i + 1] ? null : reasons[i];
      return el("div", {
        class: "nbt-action",
        children: [
          this.#button(mark, action, { disabled: against[i] !== null, waiting: waiting[i] }),
          ...(reason ? [el("span", { class: "nbt-soft", text: reason })] : []),
        ],
      });
    });
    return el("section", { tabindex: -1, children: [...head, ...rows] });
  }

  /**
   * @param {Mark} mark
   * @param {Action} action
   * @param {{disabled: boolean, waiting?: string}} how
   */
  #button(mark, action, { disabled, waiting }) {
    const [text, command, more] = action;
    const node = button({ text, "data-action": `${key(mark)} ${text}` }, () => {
      if (!this.clicks.of(command)) this.#choose(action);
    });
    if ("halve" in more)
      node.title = `Halves the ${more.halve} of the checkpoint, or the current one if that is lower.`;
    node.disabled = disabled;
    node.setAttribute("aria-disabled", String(disabled || Boolean(waiting)));
    return node;
  }

  /**
   * Posts an action. Actions that are chosen before the earlier ones are answered are done together.
   * @param {Action} action
   */
  #choose([, command, more]) {
    const { texts } = this;
    if (!texts.includes(WAITING)) this.from = texts.length;
    const place = texts.push(WAITING) - 1;
    this.#showAnswers(texts);
    this.clicks.post(/** @type {any} */ ({ command, ...more }), (receipt) => {
      texts[place] = answer(command, receipt);
      this.#showAnswers(texts);
    });
  }

  /** @param {string[]} texts */
  #showAnswers(texts) {
    if (texts !== this.texts) return;
    say(this.answers, texts.join("\n"));
    if (texts.slice(this.from).every((text) => text.startsWith(APPLIED))) this.done();
  }
}

/**
 * Identifies a mark. A new start may renumber the marks, so the time is part of the key.
 * @param {Mark} mark
 */
export const key = ({ number, wall }) => `${number} ${wall}`;

/**
 * @param {string} command
 * @param {Receipt} [receipt]
 */
function answer(command, receipt) {
  if (!receipt) return `${command}: outcome unknown; the panel shows the state of the run`;
  return `${receipt.state === "applied" ? APPLIED : "✕"} ${receipt.text}`;
}
