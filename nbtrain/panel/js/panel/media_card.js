// One tag of the run's pictures and media, with its value at a step, or the latest one before.

import { nearest } from "../shared/buckets.js";
import { AudioBody } from "../shared/cards/audio_body.js";
import { HistogramBody } from "../shared/cards/histogram_body.js";
import { ImageBody } from "../shared/cards/image_body.js";
import { PRCurveBody } from "../shared/cards/pr_curve_body.js";
import { placeUpTo } from "../shared/cards/steps.js";
import { TextBody } from "../shared/cards/text_body.js";
import { floats } from "../shared/columns.js";
import { el, say } from "../shared/dom.js";
import { place } from "../shared/format.js";
import { named } from "../shared/name.js";

/** @import { MediaKind, MediaQuestion, MediaValue } from "../protocol.d.ts" */
/** @import { Bytes } from "../shared/connection.js" */
/** @import { Paint } from "../shared/theme.js" */
/** @import { MediaReply } from "./media_questions.js" */

const BODIES = {
  images: ImageBody,
  text: TextBody,
  pr_curves: PRCurveBody,
  histograms: HistogramBody,
  audio: AudioBody,
};

export class MediaCard {
  page = { option: false };
  board = {
    styleOf: () => ({ colour: this.panel.paint().colours[0] }),
    paint: () => this.panel.paint(),
  };
  wanted = -1; // the number of values, as far as known
  count = -1; // the number of values when the steps were received
  /** @type {number[]} */
  steps = []; // the steps in the body
  at = -1;
  /** @type {number[]} */
  all = []; // the steps that can be shown
  /** @type {number[]} */
  walls = [];
  /** @type {number[]} */
  numbers = []; // the indices of the values at these steps
  /** @type {string | null} */
  known = null;
  /** @type {number | null} */
  shown = null; // the number of the value in the body
  ridged = false; // whether the body shows histograms of these steps
  asking = false;
  again = false;

  /**
   * run: its name; step: returns the step to be shown, null for the newest; ask: see
   * media_questions.js; choose: called with a step that a click has chosen; stepsChanged: called when there
   * are other steps.
   * @param {{run: string, kind: MediaKind, tag: string}} what
   * @param {{paint: () => Paint, step: () => number | null, ask: (question: MediaQuestion) => Promise<MediaReply | null>, choose: (step: number) => void, stepsChanged: () => void}} panel
   */
  constructor({ run, kind, tag }, panel) {
    this.run = this.runTitle = run;
    this.kind = kind;
    this.tag = tag;
    this.panel = panel;
    this.body = new BODIES[kind](this);
    this.said = el("span", { class: "nbt-soft", "data-role": "step" });
    this.note = el("div", { class: "nbt-soft", hidden: "", "data-role": "said" });
    this.problem = el("div", { class: "nbt-problem", role: "status", hidden: "" });
    const name = named(tag, { class: "nbt-tag" });
    this.root = el("section", {
      class: "nbt-chart nbt-card",
      "data-tag": tag,
      "data-kind": kind,
      children: [
        el("div", { class: "nbt-chart-head", children: [name, this.said] }),
        this.body.root,
        this.note,
        this.problem,
      ],
    });
  }

  /**
   * Requests missing data until the wanted step is shown.
   * @param {number} [count] the number of values
   */
  async want(count = this.wanted) {
    this.wanted = count;
    this.lost = false; // whether no answer has arrived
    this.again = true; // another step may be wanted when the answer arrives
    if (this.asking || !this.seen) return;
    this.asking = true;
    while (this.seen && this.again) {
      this.again = false;
      if (await this.#next()) this.again = true;
    }
    this.asking = false;
  }

  /** @param {number} at */
  move(at) {
    this.panel.choose(this.steps[at]);
  }

  enter() {
    this.seen = true;
    this.want();
  }

  // Keeps only its height while it is not visible.
  leave() {
    this.seen = false;
    const height = this.body.root.offsetHeight;
    if (height) this.body.root.style.minHeight = `${height}px`;
    this.body.clear();
    this.shown = null;
    this.ridged = false;
  }

  repaint() {
    if ("resize" in this.body) this.body.resize();
  }

  // Requests the next missing data; returns whether more may be missing.
  async #next() {
    const of = { kind: this.kind, tag: this.tag };
    if (this.count !== this.wanted) {
      const { wanted } = this;
      const reply = await this.panel.ask({ about: "history", ...of, known: this.known });
      if (!reply) return this.#lose();
      this.count = wanted;
      return this.#takeSteps(reply);
    }
    const at = placeUpTo(this.all, this.panel.step());
    if (at < 0) return false;
    if (this.ridged && this.kind === "histograms") return this.#mark(this.all[at]);
    const number = this.numbers[at];
    if (number === this.shown) return false;
    const reply = await this.panel.ask({ about: "value", ...of, at: number });
    if (!reply) return this.#lose();
    if (!this.seen) return false;
    this.shown = number;
    await this.#show(reply, at);
    return true;
  }

  #lose() {
    this.lost = true;
    return false;
  }

  /** @param {MediaReply} reply */
  #takeSteps({ content, buffers }) {
    if (content.about === "refused") say(this.problem, content.text);
    if (content.about !== "history") return content.about === "same";
    const numbers = floats(buffers[0]);
    const size = numbers.length / 3;
    const [steps, walls, indices] = [0, 1, 2].map((row) => [
      ...numbers.subarray(row * size, (row + 1) * size),
    ]);
    this.known = content.known;
    this.all = steps;
    this.walls = walls;
    this.numbers = indices;
    this.ridged = false;
    if (content.count > size)
      this.thinned = `${size.toLocaleString("en")} of ${content.count.toLocaleString("en")} steps are available.`;
    if (!size) say(this.problem, "The run was restored to a step before all values.");
    this.panel.stepsChanged();
    return true;
  }

  /**
   * @param {MediaReply} reply
   * @param {number} at
   */
  async #show({ content, buffers }, at) {
    if (content.about === "refused") {
      this.body.clear();
      say(this.problem, content.text);
      return;
    }
    if (content.about !== "value") return;
    say(this.problem, "");
    say(this.note, [sentence(content.said), this.thinned].filter(Boolean).join(" "));
    this.#showStep(content.step, this.walls[at]);
    await this.#fill(content, buffers, at);
    this.body.root.style.minHeight = "";
    this.root.dataset.step = String(content.step);
  }

  /**
   * @param {MediaValue} content
   * @param {Bytes[]} buffers
   * @param {number} at
   */
  async #fill(content, buffers, at) {
    if (this.body instanceof HistogramBody && "marked" in content) {
      this.steps = content.steps;
      this.at = content.marked;
      this.ridged = true;
    } else {
      this.steps = this.all;
      this.at = at;
    }
    const shown = { ...content, shown: [...this.steps.keys()] };
    await /** @type {any} */ (this.body).show(shown, buffers, this.at);
  }

  /**
   * Highlights the histogram nearest to a step.
   * @param {number} step
   */
  #mark(step) {
    const at = nearest(this.steps, step);
    if (at === this.at || !(this.body instanceof HistogramBody)) return false;
    this.at = at;
    this.body.marked = at;
    this.body.choose();
    this.#showStep(this.steps[at]);
    this.root.dataset.step = String(this.steps[at]);
    return false;
  }

  /**
   * @param {number} step
   * @param {number} [wall]
   */
  #showStep(step, wall) {
    say(this.said, place(step, "step"));
    this.said.title = wall ? place(wall, "wall") : "";
  }
}

/** @param {string} said */
function sentence(said) {
  const text = said.trim();
  if (!text) return "";
  return `${text[0].toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;
}
