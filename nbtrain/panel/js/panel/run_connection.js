// What the views of one run share: what has arrived, and whether the kernel is there.

import { Contact } from "./contact.js";
import { Notices } from "./notices.js";
import { Connection } from "../shared/connection.js";
import { Store } from "./store.js";

/** @import { FromPanel, Still, ToPanel } from "../protocol.d.ts" */
/** @import { Bytes, Model, View } from "../types.d.ts" */
/** @import { Clicks } from "./clicks.js" */

/** @extends {Connection<Exclude<FromPanel, Still>, ToPanel, View & {clicks: Clicks}>} */
export class RunConnection extends Connection {
  contact = new Contact();
  notices = new Notices(() => this.changed());
  store = new Store(() => this.send({ t: "hello" }));

  /** @param {Model} model */
  constructor(model) {
    super(model);
    this.send({ t: "hello" });
  }

  get answered() {
    return this.store.ready;
  }

  get #inSight() {
    return this.views.size > 0 && document.visibilityState !== "hidden";
  }

  alive() {
    if (this.#inSight) this.send({ t: "alive", seq: this.store.seq });
  }

  look() {
    if (this.#inSight) this.contact.look();
    super.look();
    this.changed();
  }

  /**
   * @param {Exclude<FromPanel, Still>} content
   * @param {Bytes[]} buffers
   */
  receive(content, buffers) {
    this.contact.heard();
    if (content.t === "ack") for (const view of this.views) view.clicks.acknowledged(content.id);
    else this.store.receive(content, buffers);
    this.notices.look(this.store.status);
    this.changed();
  }

  // Told when a widget manager gives its kernel up. One that speaks all the same is back.
  broke() {
    this.contact.broke();
    this.changed();
  }
}
