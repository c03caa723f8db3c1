// Hyperparameters: a row for each, with a slider and the exact number beside it.
//
// Nothing is sent while a slider is dragged or a number is typed; afterwards, one command is. Then the
// row shows the kernel's value. The field rounds a long value, and shows all digits while focused.

import { el } from "../shared/dom.js";
import { getOrMake } from "../shared/collections.js";
import { numberIn } from "../shared/format.js";
import { brief, exact, places } from "./scale.js";

/** @import { Receipt, Scale, Status } from "../protocol.d.ts" */
/** @import { Clicks } from "./clicks.js" */
/** @import { Places } from "./scale.js" */

// Without this, JupyterLab handles the arrow keys, which should move the slider.
const OWN_KEYS = { "data-lm-suppress-shortcuts": "true" };

const ROOM = 9; // characters that a field shows, even in a wide font

let notes = 0;

/** @typedef {[lowest: number, highest: number, scale: Scale]} Range */

export class Hyperparameters {
  /** @param {Clicks} clicks */
  constructor(clicks) {
    this.clicks = clicks;
    /** @type {Map<string, Row>} */
    this.rows = new Map(); // by name
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
      const row = getOrMake(this.rows, name, () => this.#made(name, range));
      const can = Boolean(!silentSince && controls?.set);
      row.show(values[i], range, can, answered.join("\n"), rates[i]);
    });
    this.root.hidden = !names.length;
  }

  /**
   * @param {string} name
   * @param {Range} range
   */
  #made(name, range) {
    const row = new Row(name, range, this.clicks);
    this.root.append(row.root);
    return row;
  }

  /**
   * The name of the row that shows why its command was refused; undefined if none does.
   * @param {Receipt} receipt
   */
  refused({ id }) {
    return [...this.rows.values()].find((row) => id && row.refusedBy === id)?.name;
  }
}

class Row {
  /** @type {number | string} */
  value = "";
  /** @type {string | null} */
  rate = null;
  can = false;
  /** @type {string | null} */
  refusal = null;
  /** @type {string | null} */
  refusedBy = null; // the id of its receipt
  /** @type {string | null} */
  among = null; // the answers at the time of the refusal; see `show`
  /** @type {number | string | null} */
  asked = null; // the value of the pending command
  /** @type {number | string | null} */
  next = null; // entered meanwhile; sent after the answer
  editing = false;

  /**
   * @param {string} name
   * @param {Range} range
   * @param {Clicks} clicks
   */
  constructor(name, range, clicks) {
    this.name = name;
    this.range = range;
    this.places = places(...range);
    this.clicks = clicks;
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
   * answered: the answers to the latest commands. A refusal is shown until the next answer, which may
   * remove its reason. rate: the schedule's rate times this factor; null without a schedule.
   * @param {number | string} value
   * @param {Range} range
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
    if (this.editing) return; // also keeps the range
    this.#lay();
    const shown = (waiting ? (this.next ?? this.asked) : null) ?? this.value;
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

  // Shows all digits. Selects a changed text, because the change would lose the selection made by Tab. A
  // click then sets the caret.
  #open() {
    const { value } = this.field;
    this.#draw();
    if (this.field.value !== value) this.field.select();
  }

  // Sends the typed value. An unchanged field sends nothing, because its text may be rounded.
  #enter() {
    if (this.editing) this.#ask(numberIn(this.field.value));
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
    this.clicks.post({ command: "set", values: { [this.name]: value } }, (receipt) =>
      this.#answered(receipt),
    );
  }

  /** @param {Receipt} [receipt] */
  #answered(receipt) {
    const { next } = this;
    this.asked = this.next = null;
    const refused = receipt?.state === "refused" ? receipt : null;
    this.refusal = refused?.text ?? null;
    this.refusedBy = refused?.id ?? null;
    this.among = null;
    if (next !== null && this.can) this.#send(next);
  }

  #leave() {
    this.editing = false;
    this.#draw();
  }

  /**
   * Handles Enter, which not every browser treats as a change outside of a form, and Escape.
   * @param {KeyboardEvent} event
   */
  #key(event) {
    if (event.key === "Enter") this.#enter();
    if (event.key !== "Escape") return;
    this.refusal = null;
    this.#leave();
  }
}
