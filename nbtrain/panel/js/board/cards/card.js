// The summary of one tag and run at a step, and the slider that chooses the step.

import { floats } from "../../shared/columns.js";
import { el, partOf, say } from "../../shared/dom.js";
import { choiceOf, placeOf } from "../../shared/cards/steps.js";
import { fullScreen } from "../full_screen.js";
import { Pin } from "../../shared/pin.js";
import { StepSlider } from "./step_slider.js";
import { named } from "../../shared/name.js";

/** @import { Answer, Question, Summary } from "../../protocol.d.ts" */
/** @import { CardsPage } from "../pages/cards_page.js" */
/** @import { Body } from "../../shared/cards/body.d.ts" */
/** @import { Choice } from "../../shared/cards/steps.js" */
/** @import { Bytes } from "../../shared/connection.js" */
/** @import { Board } from "../board.js" */

/**
 * The class of a kind of body. several: whether it shows all steps at once and needs no slider.
 * @typedef {{new (card: Card): Body<Summary>, several?: boolean, option?: {text: string, title: string}}} BodyKind
 */

export class Card {
  /**
   * @param {Board} board
   * @param {CardsPage} page
   * @param {[tag: string, run: string]} key
   */
  constructor(board, page, [tag, run]) {
    this.board = board;
    this.page = page;
    this.tag = tag;
    this.run = run;
    this.runTitle = board.connection.titleOf(run);
    /** @type {number[]} */
    this.steps = [];
    /** @type {number[]} */
    this.walls = [];
    /** @type {Choice | null} */
    this.chosen = null;
    this.asking = false;
    /** @type {number | null} */
    this.version = null; // the board's version when the steps were received
    /** @type {string | null} */
    this.shown = null; // the key of the body's contents
    /** @type {string | null} */
    this.known = null; // identifies the steps, for the kernel
    this.body = new page.Body(this);
    const name = named(tag, { class: "nbt-tag" });
    this.sample = el("span", {
      class: "nbt-of-run",
      title: this.runTitle,
      children: [
        board.swatch(run),
        named(board.nameOf(run), { class: "nbt-run-name", title: this.runTitle }),
      ],
    });
    this.pin = new Pin(tag, () => board.choices.toggle("pins", tag));
    const whole = fullScreen(tag, this);
    const children = [name, this.sample, whole, this.pin.root];
    const head = el("div", { class: "nbt-chart-head", children });
    this.problem = el("div", { class: "nbt-problem", role: "status", hidden: "" });
    this.slider = page.Body.several
      ? null
      : new StepSlider(`step of ${tag} in ${this.runTitle}`, (at) => this.move(at));
    /** @type {HTMLElement} */
    this.root = el("section", {
      class: "nbt-chart nbt-card",
      "data-tag": tag,
      "data-run": run,
      children: [head, ...(this.slider ? [this.slider.root] : []), this.body.root, this.problem],
    });
  }

  // Requests the chosen step unless the card shows it; one request at a time.
  async update() {
    const { connection } = this.board;
    if (connection.gone || this.asking || !this.page.visible.has(this)) return;
    const of = { kind: this.page.kind, tag: this.tag, run: this.run };
    const { version } = connection;
    if (this.version !== version) {
      if (!this.problem.hidden) this.shown = null; // a refused step may exist by now
      const { content, buffers } = await this.#ask({ t: "history", ...of, known: this.known });
      if (content.t === "lost") return;
      this.version = version;
      if (content.t === "history") this.#take(content, buffers[0]);
      if (content.t === "refused") this.#refuse(content.text);
    } else {
      const { at } = this;
      const key = this.page.Body.several
        ? this.known
        : JSON.stringify([at, this.steps[at], this.walls[at]]);
      if (at < 0 || this.shown === key) return;
      const { content, buffers } = await this.#ask({ t: "summary", ...of, at });
      if (content.t === "lost") return;
      if (content.t === "summary" && content.step !== this.steps[at]) {
        this.version = null; // the run was restored meanwhile and has other steps
      } else if (this.page.visible.has(this)) {
        this.shown = key;
        await this.#show(content, buffers, at);
      }
    }
    this.update(); // another step may be wanted by now
  }

  /**
   * Shows the step with this index.
   * @param {number} at
   */
  move(at) {
    this.chosen = choiceOf(this.steps, at);
    this.slider?.show(this, this.at);
    this.update();
  }

  get at() {
    return placeOf(this.steps, this.chosen);
  }

  // Removes the contents, but keeps the height.
  clear() {
    const height = this.body.root.offsetHeight;
    if (height) this.body.root.style.minHeight = `${height}px`;
    this.body.clear();
    this.shown = null;
  }

  repaint() {
    partOf(this.sample, "svg").replaceWith(this.board.swatch(this.run));
    this.resize();
  }

  resize() {
    this.body.resize?.();
  }

  /** @param {Question} message */
  async #ask(message) {
    this.asking = true;
    const answer = await this.board.connection.ask(message);
    this.asking = false;
    return answer;
  }

  /**
   * @param {{known: string}} content
   * @param {Bytes} buffer
   */
  #take(content, buffer) {
    const numbers = floats(buffer);
    this.known = content.known;
    this.steps = [...numbers.subarray(0, numbers.length / 2)];
    this.walls = [...numbers.subarray(numbers.length / 2)];
    this.slider?.show(this, this.at);
  }

  /**
   * @param {Answer} content
   * @param {Bytes[]} buffers
   * @param {number} at
   */
  async #show(content, buffers, at) {
    if (content.t === "refused") return this.#refuse(content.text);
    if (content.t !== "summary") return;
    say(this.problem, "");
    const { shown } = this;
    await this.body.show(content, buffers, at);
    if (this.shown !== shown) return; // hidden meanwhile, or at another step
    this.body.root.style.minHeight = "";
    say(this.problem, this.body.lack ?? "");
    this.root.dataset.step = String(this.steps[at]);
  }

  /** @param {string} text */
  #refuse(text) {
    say(this.problem, text);
    this.body.clear();
    this.body.root.style.minHeight = "";
  }
}
