// The connection that all views of a board share: the index, and the kernel's answers.

import { Connection } from "../shared/connection.js";
import { fitsOf } from "./fits.js";

/** @import { Answer, Fit, FromBoard, Index, Question, Still, ToBoard } from "../protocol.d.ts" */
/** @import { Bytes, Model, View } from "../shared/connection.js" */

/**
 * An answer of the kernel; "lost" if the connection was lost first.
 * @typedef {{content: Answer | {t: "lost"}, buffers: Bytes[]}} Reply
 */

/**
 * The names of all data, and the progress of reading.
 * @typedef {Omit<Index, "t">} Contents
 */

const LATE_MS = 1500;
const KEEP_MS = 300; // choices made within this time are sent together

/** @extends {Connection<Exclude<FromBoard, Still>, ToBoard, View & {visible: boolean}>} */
export class BoardConnection extends Connection {
  /** @type {Contents | null} */
  index = null;
  /** The first version whose files were read to their end. */
  whole = Infinity;
  began = performance.now();
  note = "";
  gone = ""; // the reason if the connection is lost
  /** @type {string | undefined} */
  kept = undefined; // the user's options, as a text
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #keeping = undefined; // the timer until they are sent
  /** @type {Map<number, {answer: (reply: Reply) => void, at: number}>} */
  #asked = new Map(); // by the number of the question
  #next = 1;
  /** @type {Map<string, number>} */
  #looks = new Map(); // the numbers of the runs' looks
  /** @type {Map<string, Fit>} */
  fitOf = new Map(); // the fits of several runs, by each of their runs
  /** @type {Map<string, Fit>} */
  fits = new Map(); // by their leaders
  folder = ""; // the common beginning of the names of all fits

  /** @param {Model} model */
  constructor(model) {
    super(model);
    this.send({ t: "hello" });
  }

  get answered() {
    return this.index !== null;
  }

  // It grows as the kernel reads; 0 before the index arrives.
  get version() {
    return this.index?.version ?? 0;
  }

  /**
   * Asks the kernel. If the connection is lost, the answer is "lost".
   * @param {Question} message
   * @returns {Promise<Reply>}
   */
  ask(message) {
    const id = this.#next++;
    return new Promise((answer) => {
      this.#asked.set(id, { answer, at: Date.now() });
      setTimeout(() => this.changed(), LATE_MS + 50);
      this.send({ ...message, id });
    });
  }

  /**
   * Sends the user's options to the kernel, which stores them; see options.js.
   * @param {string} text
   */
  keep(text) {
    if (text === this.kept) return;
    this.kept = text;
    this.#keeping ??= setTimeout(() => this.#keepNow(), KEEP_MS);
  }

  #keepNow() {
    if (!this.#keeping || this.kept === undefined) return;
    clearTimeout(this.#keeping);
    this.#keeping = undefined;
    this.send({ t: "options", text: this.kept });
  }

  // Whether an answer is late.
  get late() {
    return [...this.#asked.values()].some(({ at }) => Date.now() - at > LATE_MS);
  }

  /** @param {string} run */
  leaderOf(run) {
    return this.fitOf.get(run)?.lead ?? run;
  }

  /**
   * The name of a run; the run "." has the name of its folder.
   * @param {string} run
   */
  titleOf(run) {
    return run === "." ? (this.index?.own ?? run) : run;
  }

  /**
   * The name of a run without the folder that all runs share.
   * @param {string} run
   */
  nameOf(run) {
    const title = this.titleOf(run);
    return title.startsWith(this.folder) ? title.slice(this.folder.length) : title;
  }

  /**
   * The name of a fit.
   * @param {string} leader
   */
  fitNameOf(leader) {
    return this.fits.get(leader)?.name ?? this.titleOf(leader);
  }

  /**
   * The number of a run's look: see `style` in tags.js.
   * @param {string} run
   */
  lookOf(run) {
    return this.#looks.get(run) ?? 0;
  }

  /** @param {Contents} index */
  #learn(index) {
    this.index = index;
    if (!index.reading) this.whole = Math.min(this.whole, index.version);
    this.note = "";
    const { runs } = index;
    this.fitOf = new Map(index.fits.flatMap((fit) => fit.runs.map((run) => [run, fit])));
    this.fits = fitsOf(runs, this.fitOf);
    const own = this.fits.get(".");
    if (own) own.name = this.titleOf(".");
    this.folder = index.folder;
    this.#looks = new Map(runs.map((run, i) => [run, index.looks[i]]));
  }

  alive() {
    const hidden = document.visibilityState === "hidden";
    if (hidden) this.#keepNow(); // the page may be about to close
    const looks = [...this.views].some((view) => view.visible) && !hidden;
    if (looks && !this.gone) this.send({ t: "alive", version: this.index?.version ?? null });
  }

  /**
   * @param {Exclude<FromBoard, Still>} content
   * @param {Bytes[]} buffers
   */
  receive(content, buffers) {
    this.gone = "";
    if (content.t === "index") {
      this.#learn(content);
    } else if (content.t === "grew") {
      // Without an index, the update is useless; the index is requested again.
      if (this.index) this.#learn({ ...this.index, progress: undefined, ...content });
    } else if (content.t === "note") {
      this.note = content.text;
    } else {
      this.#asked.get(content.id)?.answer({ content, buffers });
      this.#asked.delete(content.id);
    }
    this.changed();
  }

  // Called when the widget manager drops its kernel. A later message shows that it is back.
  disconnected() {
    this.gone = "The kernel has exited. What was drawn stays; run the cell again to see more.";
    for (const { answer } of this.#asked.values()) answer({ content: { t: "lost" }, buffers: [] });
    this.#asked.clear();
    this.changed();
  }
}
