// Clicks on their way to the kernel: posted, acknowledged, answered by a receipt.

/** @import { Command, Receipt, Status, ToPanel } from "../protocol.d.ts" */

/**
 * taken: the kernel has it; known: its receipt has been listed, or should have been.
 * @typedef {object} Click
 * @property {Command["command"]} command
 * @property {boolean} late
 * @property {boolean} taken
 * @property {boolean} known
 * @property {ReturnType<typeof setTimeout>} [timer]
 * @property {(receipt?: Receipt) => void} done
 */

const ENDED = ["finished", "stopped", "failed"];
const BUSY_AFTER_MS = 1500;
const LISTED_AFTER_MS = 1500; // a receipt that is not listed by then has left the list again

export class Clicks {
  /**
   * send: posts a message to the kernel. changed: called when time has made a difference.
   * @param {(message: ToPanel) => void} send
   * @param {() => void} changed
   */
  constructor(send, changed) {
    this.send = send;
    this.changed = changed;
    /** @type {Map<string, Click>} */
    this.waiting = new Map(); // by their ids
  }

  /**
   * done: called once, with the receipt; without one where nothing is to be known of it any more.
   * @param {Command} command
   * @param {(receipt?: Receipt) => void} [done]
   */
  post(command, done = () => {}) {
    const id = crypto.randomUUID?.() ?? String(Math.random());
    /** @type {Click} */
    const click = { command: command.command, late: false, taken: false, known: false, done };
    click.timer = setTimeout(() => {
      click.late = true;
      this.changed();
    }, BUSY_AFTER_MS);
    this.waiting.set(id, click);
    this.send({ t: "cmd", id, ...command });
    this.changed();
  }

  /**
   * The kernel has taken a click.
   * @param {string} id
   */
  acknowledged(id) {
    const click = this.waiting.get(id);
    if (!click) return;
    clearTimeout(click.timer);
    click.late = false;
    click.taken = true;
    click.timer = setTimeout(() => {
      click.known = true;
      this.changed();
    }, LISTED_AFTER_MS);
  }

  /**
   * A click waits until its receipt has an outcome, or others have pushed it off the list.
   * @param {Partial<Status>} status
   */
  settle({ receipts = [], phase }) {
    const answers = new Map(receipts.map((receipt) => [receipt.id, receipt]));
    for (const [id, click] of [...this.waiting]) {
      const answer = answers.get(id);
      const open = answer ? answer.state === "requested" : !click.known;
      if (open && !ENDED.includes(phase)) continue;
      clearTimeout(click.timer);
      this.waiting.delete(id);
      click.done(answer);
    }
  }

  /** @param {string} command */
  of(command) {
    return [...this.waiting.values()].find((click) => click.command === command);
  }

  // The last that an answer is near of: that of a trial comes at its end.
  get latest() {
    return [...this.waiting.values()]
      .filter(({ command, taken }) => command !== "try" || !taken)
      .at(-1);
  }

  destroy() {
    for (const { timer } of this.waiting.values()) clearTimeout(timer);
  }
}
