// Commands from the page: posted, acknowledged, and answered by a receipt. A command that a busy kernel
// does not acknowledge is also sent through the run's folder; it is executed only once.

/** @import { Command, Receipt, Status, ToPanel } from "../protocol.d.ts" */
/** @import { Mailbox } from "./mailbox.js" */

/**
 * sent: whether so far only the run's folder has it; problem: why it could not be sent there.
 * received: whether the kernel or the run has it; known: whether its receipt should be listed by now.
 * @typedef {object} Click
 * @property {Command["command"]} command
 * @property {boolean} late
 * @property {boolean} sent
 * @property {string} problem
 * @property {boolean} received
 * @property {boolean} known
 * @property {ReturnType<typeof setTimeout>} [timer]
 * @property {(receipt?: Receipt) => void} done
 */

const RECEIVED = "requested"; // the text of the acknowledgement of a click that is not refused
export const ENDED = ["finished", "stopped", "failed"];
const BUSY_AFTER_MS = 1500;
const POLL_MS = 1000; // between two looks for an answer in the run's folder
const LISTED_AFTER_MS = 4000; // a receipt that is not listed by then was dropped from the list

export class Clicks {
  /**
   * send: posts a message to the kernel. changed: called when the state of a click has changed.
   * @param {(message: ToPanel) => void} send
   * @param {Pick<Mailbox, "send" | "answer">} mailbox
   * @param {() => void} changed
   */
  constructor(send, mailbox, changed) {
    this.send = send;
    this.mailbox = mailbox;
    this.changed = changed;
    /** @type {Map<string, Click>} */
    this.waiting = new Map(); // by their ids
    /** @type {Receipt | null} */
    this.answer = null; // the latest answer that is not among the run's receipts, until another one arrives
    this.newest = ""; // the newest listed receipt
  }

  /**
   * Posts a command. done: called once, with the receipt, or without one if it stays unknown.
   * @param {Command} command
   * @param {(receipt?: Receipt) => void} [done]
   */
  post(command, done = () => {}) {
    const id = newId();
    /** @type {Click} */
    const click = {
      command: command.command,
      late: false,
      sent: false,
      problem: "",
      received: false,
      known: false,
      done,
    };
    click.timer = setTimeout(() => this.#sendThroughFolder(id, click, command), BUSY_AFTER_MS);
    this.waiting.set(id, click);
    this.answer = null;
    this.send({ t: "cmd", id, ...command });
    this.changed();
  }

  /**
   * Sends a click through the run's folder, because the kernel is busy.
   * @param {string} id
   * @param {Click} click
   * @param {Command} command
   */
  async #sendThroughFolder(id, click, command) {
    click.late = true;
    this.changed();
    const problem = await this.mailbox.send(id, command);
    if (this.waiting.get(id) !== click || click.received) return;
    click.sent = problem === "";
    click.problem = problem ?? "";
    if (click.sent) this.#pollLater(id, click);
    this.changed();
  }

  /**
   * Polls the run's folder for the answer. A busy kernel rarely lists receipts, and the kernel of an
   * attached run lists only those of its own commands.
   * @param {string} id
   * @param {Click} click
   */
  #pollLater(id, click) {
    click.timer = setTimeout(async () => {
      const answer = await this.mailbox.answer(id);
      if (this.waiting.get(id) !== click || !click.sent) return;
      if (answer?.state === "refused" && !answer.command) {
        // The mailbox refused it before the run read it. The kernel may still execute it.
        Object.assign(click, { sent: false, problem: answer.text });
        this.changed();
        return;
      }
      if (answer && answer.state !== "requested") {
        this.#answered(id, click, answer);
        return;
      }
      if (answer) Object.assign(click, { late: false, received: true });
      this.#pollLater(id, click);
      this.changed();
    }, POLL_MS);
  }

  /**
   * @param {string} id
   * @param {Click} click
   * @param {Receipt} answer
   */
  #answered(id, click, answer) {
    this.waiting.delete(id);
    this.answer = answer;
    click.done(answer);
    this.changed();
  }

  /**
   * Handles the kernel's acknowledgement: the click was received, or refused for the given reason.
   * @param {string} id
   * @param {string} text
   */
  acknowledged(id, text) {
    const click = this.waiting.get(id);
    if (!click) return;
    clearTimeout(click.timer);
    if (text !== RECEIVED) {
      this.#answered(id, click, { id, command: click.command, state: "refused", text });
      return;
    }
    click.late = click.sent = false;
    click.received = true;
    click.timer = setTimeout(() => {
      click.known = true;
      this.changed();
    }, LISTED_AFTER_MS);
  }

  /**
   * Answers clicks whose receipt has an outcome, or was dropped from the list.
   * @param {Partial<Status>} status
   */
  settle({ receipts = [], phase }) {
    const answers = new Map(receipts.map((receipt) => [receipt.id, receipt]));
    const newest = JSON.stringify(receipts.at(-1) ?? null);
    const ended = phase && ENDED.includes(phase);
    if (newest !== this.newest) this.answer = null;
    this.newest = newest;
    for (const [id, click] of [...this.waiting]) {
      const answer = answers.get(id);
      const open = answer ? answer.state === "requested" : !click.known;
      if (open && !ended) continue;
      clearTimeout(click.timer);
      this.waiting.delete(id);
      click.done(answer);
    }
  }

  /** @param {string} command */
  of(command) {
    return [...this.waiting.values()].find((click) => click.command === command);
  }

  // The newest click whose answer is due; a trial is answered only at its end.
  get latest() {
    return [...this.waiting.values()]
      .filter(({ command, received }) => command !== "try" || !received)
      .at(-1);
  }

  destroy() {
    for (const { timer } of this.waiting.values()) clearTimeout(timer);
    this.waiting.clear();
  }
}

// crypto.randomUUID is missing on pages of other machines without https.
function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
