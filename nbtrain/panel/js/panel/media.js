// The pictures and media of the run, at the step of the charts' cursor, in a section that can be opened.

import { placeUpTo } from "../shared/cards/steps.js";
import { button, el, say } from "../shared/dom.js";
import { place } from "../shared/format.js";
import { getOrMake } from "../shared/collections.js";
import { Viewport } from "../shared/viewport.js";
import { MediaCard } from "./media_card.js";

/** @import { MediaExtent, MediaKind, Status } from "../protocol.d.ts" */
/** @import { Choices } from "./choices.js" */
/** @import { MediaQuestions } from "./media_questions.js" */
/** @import { Paint } from "../shared/theme.js" */

const AGAIN_MS = 1000; // between two requests for new values
const SHARE = 10; // the kernel spends at most a tenth of the time on new values

export class Media {
  run = ""; // its name
  /** @type {Map<string, MediaCard>} */
  cards = new Map();
  /** @type {Viewport<MediaCard>} */
  viewport = new Viewport({
    shown: (card) => card.enter(),
    hidden: (card) => card.leave(),
  });
  /** @type {number | null} */
  pointed = null; // the step under the charts' cursor
  /** @type {number | null} */
  chosen = null; // the step of the slider; null: the newest
  rested = 0;
  seen = ""; // the extent whose tags are known
  summary = el("summary", { "data-role": "media" });
  range = el("input", {
    type: "range",
    min: 0,
    max: 0,
    step: 1,
    "aria-label": "step of the pictures and media",
    "data-role": "media-step",
    "data-lm-suppress-shortcuts": "true",
  });
  output = el("output", { class: "nbt-soft" });
  latest = button(
    { text: "Newest", title: "Show the newest value of each tag", hidden: "" },
    () => {
      this.pointed = null;
      this.choose(null);
    },
  );
  more = el("div", { class: "nbt-soft", hidden: "" });
  grid = el("div", { class: "nbt-grid" });

  /**
   * paint: returns the colours of the current theme; point: shows a step in the charts.
   * @param {{questions: MediaQuestions, choices: Choices, paint: () => Paint, point: (step: number, wall?: number) => void}} panel
   */
  constructor(panel) {
    this.panel = panel;
    const tools = el("div", {
      class: "nbt-step",
      children: [this.range, this.output, this.latest],
    });
    this.root = el("details", {
      class: "nbt-media",
      hidden: "",
      children: [this.summary, tools, this.grid, this.more],
    });
    this.root.open = panel.choices.values.media;
    this.#heed();
    this.size = new ResizeObserver(() => this.cards.forEach((card) => card.repaint()));
    this.size.observe(this.grid);
  }

  // The steps that can be chosen, of all tags.
  get steps() {
    const all = [...this.cards.values()].flatMap((card) => card.all);
    return [...new Set(all)].sort((a, b) => a - b);
  }

  /**
   * The time of a step, from the first tag that has it.
   * @param {number} step
   */
  #wallOf(step) {
    const card = [...this.cards.values()].find(({ all }) => all.includes(step));
    return card?.walls[card.all.indexOf(step)];
  }

  // The step to be shown; null: the newest of each.
  get step() {
    return this.pointed ?? this.chosen;
  }

  /** @param {Partial<Status>} status */
  show({ media, name = "" }) {
    this.extent = media;
    this.run = name;
    this.root.hidden = !media;
    if (!media) return;
    say(this.summary, words(media));
    if (!this.root.open) return;
    for (const card of this.cards.values()) if (card.lost) card.want();
    this.#look(media);
  }

  /**
   * Shows a step while the charts' cursor points at it; null ends this.
   * @param {number | null} step
   */
  pointAt(step) {
    const at = step === null ? null : Math.round(step);
    if (at === this.pointed) return;
    this.pointed = at;
    this.#turn();
  }

  /**
   * Shows a step from now on; null for the newest.
   * @param {number | null} step
   */
  choose(step) {
    this.chosen = step;
    this.#turn();
  }

  repaint() {
    this.cards.forEach((card) => card.repaint());
  }

  close() {
    clearTimeout(this.timer);
    this.size.disconnect();
    this.viewport.close();
  }

  #heed() {
    const { choices, point } = this.panel;
    this.root.addEventListener("toggle", () => {
      if (this.root.open !== choices.values.media) choices.choose({ media: this.root.open });
      this.show({ media: this.extent, name: this.run });
    });
    this.range.addEventListener("input", () => {
      const { steps } = this;
      const at = Number(this.range.value);
      this.choose(at >= steps.length - 1 ? null : steps[at]);
      point(steps[at], this.#wallOf(steps[at]));
    });
    this.range.addEventListener("keydown", (event) => event.stopPropagation()); // not a command of the notebook
    this.range.addEventListener("blur", () => this.pointAt(null));
  }

  /** @param {MediaExtent} extent */
  async #look(extent) {
    const key = `${extent.tags} ${extent.count}`;
    if (key === this.seen || this.looking) return;
    const now = performance.now();
    clearTimeout(this.timer);
    if (now < this.rested) {
      this.timer = setTimeout(() => this.extent && this.#look(this.extent), this.rested - now);
      return;
    }
    this.looking = true;
    const reply = await this.panel.questions.ask({ about: "tags" });
    if (reply?.content.about === "tags") {
      this.seen = key;
      const { tags, more } = reply.content;
      say(this.more, more ? `and ${more} more tags: open a board to see them` : "");
      for (const [kind, tag, count] of tags) this.#card(kind, tag).want(count);
      await this.panel.questions.last; // until all cards are up to date
    }
    this.rested = Math.max(now + AGAIN_MS, now + SHARE * (performance.now() - now));
    this.looking = false;
    if (this.extent && this.root.open) this.#look(this.extent);
  }

  /**
   * @param {MediaKind} kind
   * @param {string} tag
   */
  #card(kind, tag) {
    const key = JSON.stringify([kind, tag]);
    return getOrMake(this.cards, key, () => this.#made(kind, tag));
  }

  /**
   * @param {MediaKind} kind
   * @param {string} tag
   */
  #made(kind, tag) {
    const { questions, paint } = this.panel;
    const card = new MediaCard(
      { run: this.run, kind, tag },
      {
        paint,
        step: () => this.step,
        ask: (question) => questions.ask(question),
        choose: (step) => this.choose(step),
        stepsChanged: () => this.#showStep(),
      },
    );
    this.grid.append(card.root);
    this.viewport.watch(card);
    return card;
  }

  #turn() {
    if (!this.root.open) return;
    this.#showStep();
    for (const card of this.cards.values()) card.want();
  }

  // Updates the slider and its text.
  #showStep() {
    const { steps, step } = this;
    const said = step === null ? "the newest" : place(step, "step");
    this.range.max = String(Math.max(0, steps.length - 1));
    this.range.value = String(placeUpTo(steps, step));
    this.range.disabled = steps.length < 2;
    this.range.setAttribute("aria-valuetext", said);
    say(this.output, said);
    this.latest.hidden = this.chosen === null;
  }
}

/** @param {MediaExtent} extent */
function words({ tags, count }) {
  const some = `${tags} tag${tags === 1 ? "" : "s"}`;
  return `Pictures and media: ${some}, ${count.toLocaleString("en")} value${count === 1 ? "" : "s"}`;
}
