// Buttons for what can be done about some marks, and what became of it.

import { el, elementIn, focusedIn, say } from "../shared/dom.js";
import { glyph, titled } from "./marks.js";
import { halved, offersOf } from "./remedies.js";

const WAITS = "…"; // in the place of an answer
const APPLIED = "✓"; // before one

export class Offers {
  // clicks: a Clicks; state: gives {marks, see `timeline`, status, with `silentSince`};
  // heads: whether each mark is told above its buttons; retreat: gets the focus of a button that
  // is there no more; done: called when what was chosen has been applied, all of it.
  constructor(clicks, state, { heads, retreat, done = () => {} }) {
    this.clicks = clicks;
    this.state = state;
    this.heads = heads;
    this.retreat = retreat;
    this.done = done;
    this.shown = "[]";
    this.told = [];
    this.list = el("div");
    this.answers = el("div", { class: "nbt-answers", role: "status", "data-role": "answers" });
    say(this.answers, "");
  }

  // Show what can be done about these marks as the run stands. The focus stays where it is.
  show(found) {
    const { marks, status } = this.state();
    const items = offersOf(marks, found, status);
    const shown = JSON.stringify(items);
    if (shown === this.shown) return;
    this.shown = shown;
    const focused = focusedIn(this.list)?.dataset.offer;
    this.list.replaceChildren(...items.map((item) => this.#item(item)));
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

  #item({ mark, offers }) {
    const title = el("div", { class: "nbt-tip-head", text: `${glyph(mark)} ${titled(mark)}` });
    const head = this.heads ? [title, ...(mark.text ? [el("div", { text: mark.text })] : [])] : [];
    return el("section", {
      tabindex: -1,
      children: [...head, ...offers.map((offer, i) => this.#offer(mark, offer, offers[i + 1]))],
    });
  }

  // A reason that is the next one's as well is told there.
  #offer(mark, offer, next) {
    const button = el("button", {
      type: "button",
      text: offer.text,
      "data-offer": `${key(mark)} ${offer.text}`,
    });
    if (offer.halve)
      button.title = `Half of the ${offer.halve} of the checkpoint or, where it is less, of what it is now.`;
    button.disabled = offer.why !== null;
    button.addEventListener("click", () => this.clicks.of(offer.command) || this.#choose(offer));
    const why =
      offer.why && offer.why !== next?.why
        ? [el("span", { class: "nbt-soft", text: offer.why })]
        : [];
    return el("div", { class: "nbt-offer", children: [button, ...why] });
  }

  // What is chosen before the others are answered is done when all of it is.
  #choose(offer) {
    if (!this.told.includes(WAITS)) this.from = this.told.length;
    this.#post(offer, this.told);
  }

  // The second command follows the first when that was applied: what is halved is known then.
  #post({ command, more, halve = undefined }, told) {
    const place = told.push(WAITS) - 1;
    const before = halve && this.#value(halve);
    this.#tell(told);
    this.clicks.post({ command, ...more }, (receipt) => {
      told[place] = answer(command, receipt);
      if (halve && receipt?.state === "applied") this.#halve(halve, before, told);
      this.#tell(told);
    });
  }

  #halve(name, before, told) {
    const restored = this.#value(name);
    const value = halved(before, restored);
    if (value !== null) this.#post({ command: "set", more: { values: { [name]: value } } }, told);
    else told.push(`✕ ${name} was not halved: it is ${restored ?? "not there any more"}`);
  }

  #value(name) {
    const { hyperparameters, values } = this.state().status;
    return values[hyperparameters.findIndex(([known]) => known === name)];
  }

  #tell(told) {
    if (told !== this.told) return;
    say(this.answers, told.join("\n"));
    if (told.slice(this.from).every((text) => text.startsWith(APPLIED))) this.done();
  }
}

export const key = ({ event, step, place, wall }) => `${event} ${step} ${place} ${wall}`;

function answer(command, receipt) {
  if (!receipt)
    return `${command}: what became of it is not known; the panel shows how the run stands`;
  return `${receipt.state === "applied" ? APPLIED : "✕"} ${receipt.text}`;
}
