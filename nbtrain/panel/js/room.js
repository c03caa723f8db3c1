// What the views of one model share: the way to the kernel. A kind of room has `receive`, called
// with what arrives, `broke`, and `alive`, which tells the kernel of a view that is looked at.

const LOOK_MS = 4000;
const rooms = new WeakMap(); // model -> its room

// The room of a model; one of this kind is made where there is none.
export function roomOf(model, Kind) {
  if (!rooms.has(model)) rooms.set(model, new Kind(model));
  return rooms.get(model);
}

export class Room {
  constructor(model) {
    Object.assign(this, { model, views: new Set() });
    this.heed = { "msg:custom": (...message) => this.receive(...message), comm_live_update: () => this.broke() };
    for (const [name, act] of Object.entries(this.heed)) model.on(name, act);
    this.timer = setInterval(() => this.look(), LOOK_MS);
    this.seen = () => this.alive();
    document.addEventListener("visibilitychange", this.seen);
  }

  enter(view) {
    this.views.add(view);
    this.alive();
  }

  leave(view) {
    this.views.delete(view);
  }

  // The comm of a kernel that died, was restarted or shut down throws (JupyterLab 4).
  send(message) {
    try {
      this.model.send(message);
    } catch {
      this.broke();
    }
  }

  close() {
    clearInterval(this.timer);
    document.removeEventListener("visibilitychange", this.seen);
    for (const [name, act] of Object.entries(this.heed)) this.model.off(name, act);
    rooms.delete(this.model);
  }

  // Called now and then.
  look() {
    this.alive();
  }

  changed() {
    for (const view of this.views) view.changed();
  }
}
