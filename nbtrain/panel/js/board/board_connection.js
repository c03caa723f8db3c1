// The connection that all views of a board share: its index, and the kernel's answers.

import { Connection } from "../shared/connection.js";
import { getOrMake } from "../shared/collections.js";
import { fitsOf } from "./fits.js";
import { runsWithoutScalars } from "./tags.js";

/** @import { Answer, Fit, FromBoard, Index, Question, Still, ToBoard } from "../protocol.d.ts" */
/** @import { Bytes, Model, View } from "../shared/connection.js" */

/**
 * An answer of the kernel; when the kernel has gone, of the kind "lost".
 * @typedef {{content: Answer | {t: "lost"}, buffers: Bytes[]}} Reply
 */

/**
 * Everything there is by name, and how far the reading is.
 * @typedef {Omit<Index, "t">} Contents
 */

const LATE_MS = 1500;
const KEEP_MS = 300; // what is chosen within this is sent at once

/** @extends {Connection<Exclude<FromBoard, Still>, ToBoard, View & {visible: boolean}>} */
export class BoardConnection extends Connection {
  /** @type {Contents | null} */
  index = null;
  /** The version from which on the files were read to their end once. */
  whole = Infinity;
  began = performance.now();
  note = "";
  gone = ""; // in words, why nobody answers
  /** @type {string | undefined} */
  kept = undefined; // what the reader has chosen
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #keeping = undefined; // while it is not sent yet
  /** @type {Map<number, {answer: (reply: Reply) => void, at: number}>} */
  #asked = new Map(); // by the number of the question
  #next = 1;
  /** @type {Map<string, number>} */
  #numbers = new Map(); // of the runs
  /** @type {Map<string, Fit>} */
  fitOf = new Map(); // by each of their runs: the fits of several
  /** @type {Map<string, Fit>} */
  fits = new Map(); // by their leaders
  folder = ""; // what the names of all fits begin with

  /** @param {Model} model */
  constructor(model) {
    super(model);
    this.send({ t: "hello" });
  }

  get answered() {
    return this.index !== null;
  }

  // It grows with what the kernel has read; 0 before the index has come.
  get version() {
    return this.index?.version ?? 0;
  }

  /**
   * Asks the kernel. If the kernel is gone, the answer is of the kind "lost".
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
   * Sends the reader's options to the kernel, which keeps them; see options.js.
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

  // True if an answer is late.
  get late() {
    return [...this.#asked.values()].some(({ at }) => Date.now() - at > LATE_MS);
  }

  /** @param {string} run */
  leaderOf(run) {
    return this.fitOf.get(run)?.lead ?? run;
  }

  /**
   * The name of a run in a sentence: the run "." has that of its folder.
   * @param {string} run
   */
  titleOf(run) {
    return run === "." ? (this.index?.own ?? run) : run;
  }

  /**
   * The name of a run without the folders that all runs are in.
   * @param {string} run
   */
  nameOf(run) {
    const title = this.titleOf(run);
    return title.startsWith(this.folder) ? title.slice(this.folder.length) : title;
  }

  /**
   * The number of a run among those that this page has seen, so that runs keep their colours
   * when new ones come.
   * @param {string} run
   */
  numberOf(run) {
    return getOrMake(this.#numbers, run, () => this.#numbers.size);
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
    // Runs without scalars come last: they take no colour from those that have curves.
    const without = runsWithoutScalars(index);
    const curved = runs.filter((run) => !without.has(run));
    for (const run of [...curved, ...without]) this.numberOf(this.leaderOf(run));
  }

  alive() {
    const hidden = document.visibilityState === "hidden";
    if (hidden) this.#keepNow(); // the page may be on its way out
    const looks = [...this.views].some((view) => view.visible) && !hidden;
    if (looks && !this.gone) this.send({ t: "alive" });
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
      // Without names it says nothing: they are asked for again.
      if (this.index) this.#learn({ ...this.index, progress: undefined, ...content });
    } else if (content.t === "note") {
      this.note = content.text;
    } else {
      this.#asked.get(content.id)?.answer({ content, buffers });
      this.#asked.delete(content.id);
    }
    this.changed();
  }

  // Called when a widget manager gives its kernel up. A kernel that still sends is back.
  disconnected() {
    this.gone = "The kernel has exited. What was drawn stays; run the cell again to see more.";
    for (const { answer } of this.#asked.values()) answer({ content: { t: "lost" }, buffers: [] });
    this.#asked.clear();
    this.changed();
  }
}
