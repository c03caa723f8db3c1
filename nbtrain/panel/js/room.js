// What the views of one model share: what has arrived, and the way to the kernel.

import { Contact } from "./contact.js";
import { Store } from "./store.js";

const LOOK_MS = 4000;
const rooms = new WeakMap(); // model -> its room

export function roomOf(model) {
  if (!rooms.has(model)) rooms.set(model, new Room(model));
  return rooms.get(model);
}

class Room {
  constructor(model) {
    this.model = model;
    this.views = new Set();
    this.contact = new Contact();
    this.store = new Store(() => this.send({ t: "hello" }));
    this.heed = { "msg:custom": (...message) => this.#receive(...message), comm_live_update: () => this.#broke() };
    for (const [name, act] of Object.entries(this.heed)) model.on(name, act);
    this.seen = () => this.#alive();
    document.addEventListener("visibilitychange", this.seen);
    this.timer = setInterval(() => this.#look(), LOOK_MS);
    this.send({ t: "hello" });
  }

  enter(view) {
    this.views.add(view);
    this.#alive();
  }

  leave(view) {
    this.views.delete(view);
  }

  // The comm of a kernel that died, was restarted or shut down throws (JupyterLab 4).
  send(message) {
    try {
      this.model.send(message);
    } catch {
      this.#broke();
    }
  }

  close() {
    clearInterval(this.timer);
    document.removeEventListener("visibilitychange", this.seen);
    for (const [name, act] of Object.entries(this.heed)) this.model.off(name, act);
    rooms.delete(this.model);
  }

  get #inSight() {
    return this.views.size > 0 && document.visibilityState !== "hidden";
  }

  #alive() {
    if (this.#inSight) this.send({ t: "alive", seq: this.store.seq });
  }

  #look() {
    if (this.#inSight) this.contact.look();
    this.#alive();
    this.#changed();
  }

  #receive(content, buffers) {
    this.contact.heard();
    if (content.t === "ack") for (const view of this.views) view.controls.acknowledged(content.id);
    else this.store.receive(content, buffers);
    this.#changed();
  }

  // Told when a widget manager gives its kernel up. One that speaks all the same is back.
  #broke() {
    this.contact.broke();
    this.#changed();
  }

  #changed() {
    for (const view of this.views) view.changed();
  }
}
