// The connection to the kernel, which the views of one model share.

import { Moves } from "./moves.js";
import { saveStill } from "./still.js";

/** @import { Hello, Still, There } from "../protocol.d.ts" */
/** @import { Outputs } from "./still.js" */

/**
 * A message's buffer: a view may begin anywhere.
 * @typedef {ArrayBuffer | ArrayBufferView<ArrayBuffer>} Bytes
 */

/**
 * anywidget's model of a widget. Only JupyterLab's widget manager has a context.
 * @typedef {object} Model
 * @property {(name: string, act: (content: any, buffers: Bytes[]) => void) => void} on
 * @property {(name: string, act: (content: any, buffers: Bytes[]) => void) => void} off
 * @property {(message: object) => void} send
 * @property {{context?: {model?: {cells?: Iterable<{outputs?: Outputs}>}, sessionContext?: {statusChanged?: Signal<string>}}}} [widget_manager]
 */

/**
 * A signal of JupyterLab.
 * @template T
 * @typedef {object} Signal
 * @property {(slot: (sender: unknown, value: T) => void) => void} connect
 * @property {(slot: (sender: unknown, value: T) => void) => void} disconnect
 */

/**
 * A view of a widget, one for each output.
 * @typedef {{root: HTMLElement, changed(): void, close(): void}} View
 */

const POLL_MS = 4000;
// The states of a kernel whose process has ended, even if another one replaces it.
const ENDED_STATES = ["restarting", "autorestarting", "starting", "terminating", "dead"];

/**
 * An anywidget with one connection for each model and one view for each output; the view of an output
 * that was cleared moves to the next one. Each view gets a model object of its own for the same model.
 * @template {View} V
 * @template {Pick<Connection<any, any, V>, "add" | "remove" | "close">} C
 * @param {new (model: Model) => C} Kind
 * @param {new (connection: C, host: HTMLElement) => V} View
 */
export function widget(Kind, View) {
  return () => {
    /** @type {C} */
    let connection;
    /** @type {Set<Moves>} */
    const away = new Set(); // of the views without an output
    let closed = false;

    /** @param {HTMLElement} host */
    function made(host) {
      const view = new View(connection, host);
      connection.add(view);
      const moves = new Moves(view.root, () => {
        away.delete(moves);
        connection.remove(view);
        view.close();
      });
      return moves;
    }

    return {
      /** @param {{model: Model}} context */
      initialize({ model }) {
        connection = new Kind(model);
        return () => {
          closed = true;
          for (const moves of [...away]) moves.close();
          connection.close();
        };
      },
      /** @param {{el: HTMLElement}} context */
      render({ el: host }) {
        const [before] = away;
        away.delete(before);
        before?.attach(host);
        const moves = before ?? made(host);
        return () => {
          if (closed) return moves.close();
          away.add(moves);
          moves.detached();
        };
      },
    };
  };
}

/**
 * @template {{t: string}} In The messages from the kernel.
 * @template {{t: string}} Out The messages to it.
 * @template {View} V
 */
export class Connection {
  /** @param {Model} model */
  constructor(model) {
    this.model = model;
    /** @type {Set<V>} */
    this.views = new Set();
    /** @type {Record<string, (content: In | Still, buffers: Bytes[]) => void>} */
    this.handlers = {
      "msg:custom": (content, buffers) => this.take(content, buffers),
      comm_live_update: () => this.disconnected(),
    };
    for (const [name, act] of Object.entries(this.handlers)) model.on(name, act);
    // Only JupyterLab has this, outside anywidget's interface. Other pages detect the silence.
    this.kernel = model.widget_manager?.context?.sessionContext?.statusChanged;
    /** @type {(_: unknown, status: string) => void} */
    this.onStatus = (_, status) => ENDED_STATES.includes(status) && this.disconnected();
    this.kernel?.connect(this.onStatus);
    this.timer = setInterval(() => this.poll(), POLL_MS);
    this.onVisibility = () => this.alive();
    document.addEventListener("visibilitychange", this.onVisibility);
  }

  // --- overridden by each kind of connection

  /**
   * Receives a message.
   * @param {In} _content
   * @param {Bytes[]} _buffers
   */
  receive(_content, _buffers) {}

  // Whether the content to show has arrived.
  get answered() {
    return true;
  }

  // Whether nothing new can come. Then the page sends no signs of life, which would keep an idle culler
  // from stopping the kernel.
  get isOver() {
    return false;
  }

  // Reports to the kernel that the page shows a view.
  alive() {}

  // Called when the connection to the kernel is lost. A later message shows that it is back.
  disconnected() {}

  // --- the same for all connections

  /** @param {V} view */
  add(view) {
    this.views.add(view);
    this.alive();
  }

  /** @param {V} view */
  remove(view) {
    this.views.delete(view);
  }

  /**
   * Sends a message. The comm of a kernel that died, restarted or shut down throws (JupyterLab 4).
   * @param {Out | Hello | There} message
   */
  send(message) {
    try {
      this.model.send(message);
    } catch {
      this.disconnected();
    }
  }

  /**
   * @param {In | Still} content
   * @param {Bytes[]} buffers
   */
  take(content, buffers) {
    if (isStill(content)) saveStill(this.model, content);
    else this.receive(content, buffers);
  }

  close() {
    this.kernel?.disconnect(this.onStatus);
    clearInterval(this.timer);
    document.removeEventListener("visibilitychange", this.onVisibility);
    for (const [name, act] of Object.entries(this.handlers)) this.model.off(name, act);
  }

  // Called regularly. Asks again for missing content, because a question or its answer may be lost. A
  // hidden page reports that it is open, so that the kernel keeps its picture up to date.
  poll() {
    this.alive();
    if (this.views.size === 0 || this.isOver) return;
    if (document.visibilityState === "hidden") this.send({ t: "there" });
    else if (!this.answered) this.send({ t: "hello" });
  }

  changed() {
    for (const view of this.views) view.changed();
  }
}

/**
 * @param {{t: string}} content
 * @returns {content is Still}
 */
function isStill(content) {
  return content.t === "still";
}
