// A page's requests for pictures and media, one at a time. Uses no DOM.

/** @import { MediaAnswer, MediaQuestion, ToPanel } from "../protocol.d.ts" */
/** @import { Bytes } from "../shared/connection.js" */

/**
 * An answer about pictures and media.
 * @typedef {{content: MediaAnswer, buffers: Bytes[]}} MediaReply
 */

const PATIENCE_MS = 10_000; // until an answer counts as lost

export class MediaQuestions {
  /**
   * send: sends a message to the kernel.
   * @param {(message: ToPanel) => void} send
   * @param {number} [patience] milliseconds
   */
  constructor(send, patience = PATIENCE_MS) {
    this.send = send;
    this.patience = patience;
    this.next = 1;
    /** @type {Map<number, (reply: MediaReply | null) => void>} */
    this.asked = new Map();
    /** @type {Promise<unknown>} */
    this.last = Promise.resolve();
  }

  /**
   * Asks once the earlier questions are answered; resolves to null without an answer in time.
   * @param {MediaQuestion} question
   * @returns {Promise<MediaReply | null>}
   */
  ask(question) {
    const answer = this.last.then(() => this.#ask(question));
    this.last = answer;
    return answer;
  }

  /**
   * @param {MediaAnswer & {id: number}} content
   * @param {Bytes[]} buffers
   */
  receive(content, buffers) {
    this.asked.get(content.id)?.({ content, buffers });
  }

  /**
   * @param {MediaQuestion} question
   * @returns {Promise<MediaReply | null>}
   */
  #ask(question) {
    const id = this.next++;
    return new Promise((resolve) => {
      /** @param {MediaReply | null} reply */
      const answer = (reply) => {
        clearTimeout(timer);
        this.asked.delete(id);
        resolve(reply);
      };
      const timer = setTimeout(() => answer(null), this.patience);
      this.asked.set(id, answer);
      this.send({ t: "media", id, ...question });
    });
  }
}
