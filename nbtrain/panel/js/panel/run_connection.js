// The parts that the views of one run share: its data, and the connection to the kernel.

import { ENDED } from "./clicks.js";
import { LogStore } from "./log_store.js";
import { Contact } from "./contact.js";
import { Feed } from "./feed.js";
import { MediaQuestions } from "./media_questions.js";
import { Notices } from "./notices.js";
import { Connection } from "../shared/connection.js";
import { Store } from "./store.js";

/** @import { FromPanel, Still, ToPanel } from "../protocol.d.ts" */
/** @import { Clicks } from "./clicks.js" */
/** @import { Bytes, Model, View } from "../shared/connection.js" */

const SECOND_MS = 1000;
// Seconds without news after which the page asks for it: while the run moves, or an answer to a click is
// due; in phases in which the kernel sends less. A paused run sends a word every ten seconds.
const PATIENCE = 2;
/** @type {Record<string, number>} */
const STILL_PATIENCE = { created: Infinity, paused: 12 };

/** @extends {Connection<Exclude<FromPanel, Still>, ToPanel, View & {clicks: Clicks}>} */
export class RunConnection extends Connection {
  contact = new Contact();
  feed = new Feed(() => this.send({ t: "pull", seq: this.store.seq }));
  notices = new Notices(() => this.changed());
  store = new Store(() => this.send({ t: "hello" }));
  log = new LogStore((have) => this.send({ t: "log", have }));
  media = new MediaQuestions((message) => this.send(message));
  note = ""; // the kernel's error about a message, until the next snapshot

  /** @param {Model} model */
  constructor(model) {
    super(model);
    this.send({ t: "hello" });
    this.seconds = setInterval(() => this.#second(), SECOND_MS);
  }

  #second() {
    const { answers } = this.feed;
    if (!this.#inSight || this.isOver || this.contact.gone) this.feed.rest();
    else this.feed.second(this.#patience);
    if (answers !== this.feed.answers) this.changed();
  }

  close() {
    clearInterval(this.seconds);
    super.close();
  }

  get answered() {
    return this.store.ready;
  }

  // The mailbox for commands without the kernel; null once the run or the kernel has ended.
  get mailbox() {
    return this.contact.gone || this.isOver ? null : this.store.status.mailbox;
  }

  get #inSight() {
    return this.views.size > 0 && document.visibilityState !== "hidden";
  }

  get #patience() {
    const { phase = "" } = this.store.status;
    const isDue = [...this.views].some(({ clicks }) => clicks.latest);
    return isDue ? PATIENCE : (STILL_PATIENCE[phase] ?? PATIENCE);
  }

  get isOver() {
    return ENDED.includes(this.store.status.phase ?? "");
  }

  alive() {
    if (this.#inSight && !this.isOver) this.send({ t: "alive", seq: this.store.seq });
  }

  poll() {
    if (this.#inSight) this.contact.poll();
    super.poll();
    this.changed();
  }

  /**
   * @param {Exclude<FromPanel, Still>} content
   * @param {Bytes[]} buffers
   */
  receive(content, buffers) {
    this.contact.heard();
    if (content.t === "snap" || content.t === "pts" || content.t === "here")
      this.feed.heard(content.pulled ?? false);
    if (content.t === "note") this.note = content.text;
    else if (content.t === "snap") this.note = "";
    if (content.t === "ack")
      for (const view of this.views) view.clicks.acknowledged(content.id, content.text);
    else if (content.t === "log") this.log.receive(content);
    else if (content.t === "media") this.media.receive(content, buffers);
    else {
      const wasOver = this.isOver;
      this.store.receive(content, buffers);
      if (wasOver && !this.isOver) this.alive(); // it has started again
    }
    this.notices.update(this.store.status);
    this.changed();
  }

  // Called when the widget manager drops its kernel. A later message shows that it is back.
  disconnected() {
    this.contact.disconnected();
    this.changed();
  }
}
