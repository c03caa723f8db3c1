// Hyperparameters: a row for each, with a slider and the exact number beside it.
//
// While a slider is dragged, or a number typed, nothing is sent; then one command. What is shown
// afterwards is what the kernel says: in the field rounded, where it is too long to be read whole,
// and with all its digits while the field has the focus.

import { el } from "../shared/dom.js";
import { brief, exact, places } from "./scale.js";

/** @import { Receipt, Scale, Status } from "../protocol.d.ts" */
/** @import { Places } from "../types.d.ts" */
/** @import { Clicks } from "./clicks.js" */

// JupyterLab leaves their keys to them: or else the arrows, which move a slider, are the notebook's.
const OWN_KEYS = { "data-lm-suppress-shortcuts": "true" };

const ROOM = 9; // characters that a field shows, also in a broad font

let notes = 0;

export class Hyperparameters {
  /** @param {Clicks} clicks */
  constructor(clicks) {
    this.clicks = clicks;
    /** @type {Map<string, Row>} */
    this.rows = new Map(); // by the names
    this.root = el("div", { class: "nbt-rows", role: "group", "aria-label": "hyperparameters" });
  }

  /**
   * @param {Partial<Status>} status
   * @param {string | null} silentSince
   */
  show({ hyperparameters = [], values = [], rates = [], controls, receipts = [] }, silentSince) {
    const answered = receipts.filter(({ state }) => state !== "requested").map(({ text }) => text);
    const names = hyperparameters.map(([name]) => name);
    for (const [name, row] of this.rows) {
      if (names.includes(name)) continue;
      row.root.remove();
      this.rows.delete(name);
    }
    hyperparameters.forEach(([name, ...range], i) => {
      if (!this.rows.has(name)) {
        this.rows.set(name, new Row(name, this.clicks));
        this.root.append(this.rows.get(name).root);
      }
      this.rows
        .get(name)
        .show(
          values[i],
          range,
          Boolean(!silentSince && controls?.set),
          answered.join("\n"),
          rates[i],
        );
    });
    this.root.hidden = !names.length;
  }

  /**
   * The name of the row that says itself why this command of its own was refused, if there is one.
   * @param {Receipt} receipt
   */
  refused({ id }) {
    return [...this.rows.values()].find((row) => id && row.refusedBy === id)?.name;
  }
}

class Row {
  /**
   * @param {string} name
   * @param {Clicks} clicks
   */
  constructor(name, clicks) {
    this.name = name;
    this.clicks = clicks;
    /** @type {number | string | null} */
    this.asked = null; // the value on its way
    /** @type {number | string | null} */
    this.next = null; // asked for since; sent when that has arrived
    this.editing = false;
    const note = `nbt-note-${notes++}`;
    this.slider = el("input", { type: "range", min: 0, step: 1, "aria-label": name, ...OWN_KEYS });
    this.field = el("input", {
      type: "text",
      inputmode: "decimal",
      autocomplete: "off",
      spellcheck: "false",
      "aria-label": `${name}, exact value`,
      "aria-describedby": note,
      ...OWN_KEYS,
    });
    this.note = el("span", { id: note, class: "nbt-note" });
    this.root = el("div", {
      class: "nbt-row",
      "data-hyperparameter": name,
      children: [
        el("span", { class: "nbt-label", title: name, text: name }),
        this.slider,
        this.field,
        this.note,
      ],
    });
    this.slider.addEventListener("input", () => this.#preview());
    this.slider.addEventListener("change", () =>
      this.#ask(this.places.valueAt(Number(this.slider.value))),
    );
    this.field.addEventListener("input", () => (this.editing = true));
    this.field.addEventListener("change", () => this.#enter());
    this.field.addEventListener("focus", () => this.#open());
    this.field.addEventListener("blur", () => this.#leave());
    this.field.addEventListener("keydown", (event) => this.#key(event));
  }

  /**
   * answered: what became of the latest commands. With another answer a refusal is over: what it
   * says may be so no more.
   * rate: what the schedule gives, times this factor; null where it is none.
   * @param {number | string} value
   * @param {[lowest: number, highest: number, scale: Scale]} range
   * @param {boolean} can
   * @param {string} answered
   * @param {string | null} [rate]
   */
  show(value, range, can, answered, rate = null) {
    this.value = value;
    this.rate = rate;
    this.range = range;
    this.can = can;
    if (this.refusal) this.among ??= answered;
    if (this.refusal && this.among !== answered) this.refusal = null;
    this.#draw();
  }

  #draw() {
    const waiting = this.can && this.asked !== null;
    for (const input of [this.slider, this.field]) input.disabled = !this.can;
    if (!this.can) this.editing = false;
    this.root.dataset.state = waiting ? "requested" : this.refusal ? "refused" : "";
    this.field.setAttribute("aria-invalid", String(Boolean(this.refusal)));
    const text = waiting
      ? "setting…"
      : (this.refusal ?? (this.rate === null ? "" : `rate ${this.rate} now`));
    if (this.note.textContent !== text) this.note.textContent = text;
    if (this.editing) return; // nor does the range move under the hand
    this.#lay();
    const shown = waiting ? (this.next ?? this.asked) : this.value;
    this.#place(this.places.placeOf(Number(shown)), exact(shown));
    this.#write(shown);
  }

  #lay() {
    const [lowest, highest, kind] = this.range;
    const range = `${exact(lowest)} to ${exact(highest)}`;
    if (this.slider.title === range) return;
    this.places = places(lowest, highest, kind);
    this.slider.max = String(this.places.last);
    this.slider.title = range;
  }

  /**
   * @param {number} place
   * @param {string} text
   */
  #place(place, text) {
    if (Number(this.slider.value) !== place) this.slider.value = String(place);
    this.slider.setAttribute("aria-valuetext", text);
    this.slider.style.setProperty("--part", String(place / this.places.last));
  }

  /** @param {number | string} value */
  #write(value) {
    const text = this.field.matches(":focus") ? exact(value) : brief(value, ROOM);
    if (this.field.value !== text) this.field.value = text;
    this.field.title = exact(value);
  }

  #preview() {
    this.editing = true;
    const place = Number(this.slider.value);
    const value = this.places.valueAt(place);
    this.#write(value);
    this.#place(place, exact(value));
  }

  // What is written anew is selected, all of it, as Tab does: a script's selection cannot be read
  // yet, and would be lost. A click puts the caret afterwards.
  #open() {
    const { value } = this.field;
    this.#draw();
    if (this.field.value !== value) this.field.select();
  }

  // A field that was left as it was asks for nothing: what it shows may be rounded.
  #enter() {
    if (this.editing) this.#ask(this.#typed());
  }

  // What is no number is sent as it is: the run says what is wrong with it.
  #typed() {
    const text = this.field.value.trim().replace("−", "-");
    return text === "" || Number.isNaN(Number(text)) ? text : Number(text);
  }

  /** @param {number | string} value */
  #ask(value) {
    this.editing = false;
    const same = value === (this.next ?? this.asked ?? this.value);
    if (!same) this.refusal = null;
    if (!same && this.asked === null) this.#send(value);
    else if (!same) this.next = value;
    this.#draw();
  }

  /** @param {number | string} value */
  #send(value) {
    this.asked = value;
    const sent = Number.isFinite(value) ? value : String(value); // JSON has no other numbers
    this.clicks.post({ command: "set", values: { [this.name]: sent } }, (receipt) =>
      this.#answered(receipt),
    );
  }

  /** @param {Receipt} [receipt] */
  #answered(receipt) {
    const { next } = this;
    this.asked = this.next = null;
    this.refusal = receipt?.state === "refused" ? receipt.text : null;
    this.refusedBy = this.refusal && receipt.id;
    this.among = null; // the answers that it came with; see `show`
    if (next !== null && this.can) this.#send(next);
  }

  #leave() {
    this.editing = false;
    this.#draw();
  }

  /**
   * Enter is not left to the field: where it is in no form, not every browser calls that a change.
   * @param {KeyboardEvent} event
   */
  #key(event) {
    if (event.key === "Enter") this.#enter();
    if (event.key !== "Escape") return;
    this.refusal = null;
    this.#leave();
  }
}
