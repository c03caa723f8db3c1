// The kernel's latest answer to a page, requested again when there may be more data.

/** @import { BoardConnection, Reply } from "./board_connection.js" */
/** @import { Question } from "../protocol.d.ts" */

/**
 * A question without its field `known`.
 * @typedef {Question extends infer Q ? Q extends {known: unknown} ? Omit<Q, "known"> : never : never} Wanted
 */

const SHARE = 5; // the kernel spends at most a fifth of the time on the same question
const MANY = 300; // runs from which a partial answer costs as much as the complete one soon after
const PATIENCE_MS = 2000;
const CLOCK = {
  now: () => performance.now(),
  /** @type {(act: () => void, ms: number) => unknown} */
  later: (act, ms) => setTimeout(act, ms),
};

/**
 * Returns whether to ask later, when more of many runs has been read.
 * @param {{reading: boolean, runs: string[]}} index
 * @param {number} waited milliseconds since the page has the board
 */
export function isEarly({ reading, runs }, waited) {
  return reading && runs.length >= MANY && waited < PATIENCE_MS;
}

export class Latest {
  /**
   * take: called with each new answer, {content, buffers, question}.
   * @param {Pick<BoardConnection, "ask" | "gone" | "whole">} connection
   * @param {(answer: Reply & {question: string}) => void} take
   * @param {typeof CLOCK} [clock]
   */
  constructor(connection, take, clock = CLOCK) {
    this.connection = connection;
    this.take = take;
    this.clock = clock;
    /** @type {string | null} */
    this.asked = null;
    /** @type {string | null} */
    this.known = null;
    /** @type {string | null} */
    this.question = null;
    this.asking = false;
    this.rested = 0;
    this.version = 0; // the board's version at the latest request
    this.waits = false;
    /** @type {[Wanted, number] | null} */
    this.wanted = null;
  }

  /**
   * Asks, unless the answer to this question is known. One question is pending at a time; the newest is
   * asked last.
   * @param {Wanted} message
   * @param {number} version
   */
  async want(message, version) {
    const question = JSON.stringify(message);
    const key = `${version} ${question}`;
    this.wanted = [message, version];
    if (this.asking || this.asked === key || this.connection.gone) return;
    const began = this.clock.now();
    const { whole } = this.connection;
    const grown = this.version < whole && version >= whole; // the known answer covers a part of the files
    if (question === this.question && began < this.rested && !grown)
      return this.#wait(this.rested - began);
    this.asking = true;
    this.version = version;
    const { content, buffers } = await this.connection.ask({
      ...message,
      known: question === this.question ? this.known : null,
    });
    this.asking = false;
    if (content.t === "lost") return;
    const ended = this.clock.now();
    this.asked = key;
    this.question = question;
    this.rested = ended + (SHARE - 1) * (ended - began);
    if (content.t !== "same") {
      this.known = "known" in content ? content.known : null;
      this.take({ content, buffers, question });
    }
    this.#again(); // another question may be wanted by now
  }

  #again() {
    if (this.wanted) this.want(...this.wanted);
  }

  /** @param {number} ms */
  #wait(ms) {
    if (this.waits) return;
    this.waits = true;
    this.clock.later(() => {
      this.waits = false;
      this.#again();
    }, ms);
  }
}
