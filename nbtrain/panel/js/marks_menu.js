// What can be done about a mark, and what became of it.

import { el, say } from "./dom.js";
import { glyph, offers, titled } from "./marks.js";
import { Popover } from "./popover.js";

const LISTED = 12; // marks of a group; a zoom tells them apart

export class MarksMenu {
  // clicks: see clicks.js; state: gives {marks, see `timeline`, status, with `silentSince`}.
  constructor(clicks, state) {
    Object.assign(this, { clicks, state, marks: [], shown: "" });
    this.popover = new Popover("marks");
    this.list = el("div", { class: "nbt-pop-list" });
    this.answers = el("div", { class: "nbt-answers", role: "status", "data-role": "answers" });
    this.popover.root.append(this.list, this.answers);
  }

  // Offer what can be done about these marks, beside an element, at a place in it.
  open(marks, anchor, left) {
    this.marks = marks.map(key);
    this.shown = "";
    this.told = [];
    say(this.answers, "");
    this.popover.close();
    this.show();
    this.popover.open(anchor, marks.length > 1 ? `${marks.length} marks` : titled(marks[0]), left);
  }

  // The run has gone on: something else may be possible by now. The focus stays where it is.
  show() {
    const { marks, status } = this.state();
    const found = this.marks.slice(0, LISTED).map((wanted) => marks.find((mark) => key(mark) === wanted)).filter(Boolean);
    const items = found.map((mark) => ({ mark, offers: offers(marks, mark, status) }));
    const shown = JSON.stringify(items);
    if (shown === this.shown) return;
    this.shown = shown;
    const focused = this.list.contains(document.activeElement) && document.activeElement.dataset.offer;
    const more = this.marks.length - LISTED;
    const rest = more > 0 ? [el("p", { class: "nbt-soft", text: `and ${more} more: zoom in to reach them` })] : [];
    this.list.replaceChildren(...items.map((item) => this.#item(item)), ...rest);
    if (focused) (this.list.querySelector(`[data-offer="${CSS.escape(focused)}"]:enabled`) ?? this.popover.root).focus();
  }

  #item({ mark, offers }) {
    const title = el("div", { class: "nbt-tip-head", text: `${glyph(mark)} ${titled(mark)}` });
    return el("section", { children: [title, ...(mark.text ? [el("div", { text: mark.text })] : []), ...offers.map((offer) => this.#offer(mark, offer))] });
  }

  #offer(mark, offer) {
    const button = el("button", { type: "button", text: offer.text, "data-offer": `${key(mark)} ${offer.text}` });
    button.disabled = offer.why !== null;
    button.addEventListener("click", () => this.clicks.of(offer.command) || this.#post(offer));
    const why = offer.why ? [el("span", { class: "nbt-soft", text: offer.why })] : [];
    return el("div", { class: "nbt-offer", children: [button, ...why] });
  }

  // The second command follows the first when that was applied: its value is half of what then is.
  #post({ command, more, halve }) {
    const [told, place] = [this.told, this.told.length];
    const tell = (text) => {
      told[place] = text;
      if (told === this.told) say(this.answers, told.join("\n"));
    };
    tell("…");
    this.clicks.post(command, more, (receipt) => {
      tell(answer(command, receipt));
      if (halve && receipt?.state === "applied") this.#halve(halve);
    });
  }

  #halve(name) {
    const { hyperparameters, values } = this.state().status;
    const value = values[hyperparameters.findIndex(([known]) => known === name)];
    if (typeof value === "number") this.#post({ command: "set", more: { values: { [name]: value / 2 } } });
    else say(this.answers, `${this.told.join("\n")}\n✕ ${name} was not halved: it is ${value ?? "not there any more"}`);
  }
}

const key = ({ event, step, place, wall }) => `${event} ${step} ${place} ${wall}`;

function answer(command, receipt) {
  if (!receipt) return `${command}: what became of it is not known; the panel shows how the run stands`;
  return `${receipt.state === "applied" ? "✓" : "✕"} ${receipt.text}`;
}
