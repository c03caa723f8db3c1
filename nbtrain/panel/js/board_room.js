// What the views of one board share: what there is, and the way to the kernel.

const LOOK_MS = 4000;
const LATE_MS = 1500;
const rooms = new WeakMap(); // model -> its room

export function boardRoomOf(model) {
  if (!rooms.has(model)) rooms.set(model, new BoardRoom(model));
  return rooms.get(model);
}

class BoardRoom {
  constructor(model) {
    Object.assign(this, { model, views: new Set(), index: null, note: "", gone: false, asked: new Map(), next: 1, numbers: new Map() });
    this.heed = { "msg:custom": (...message) => this.#receive(...message), comm_live_update: () => this.#broke() };
    for (const [name, act] of Object.entries(this.heed)) model.on(name, act);
    this.timer = setInterval(() => this.#alive(), LOOK_MS);
    this.seen = () => this.#alive();
    document.addEventListener("visibilitychange", this.seen);
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

  // The answer to a message, {content, buffers}; when the kernel has gone, of the kind "lost".
  ask(message) {
    const id = this.next++;
    return new Promise((answer) => {
      this.asked.set(id, { answer, at: Date.now() });
      setTimeout(() => this.#changed(), LATE_MS + 50);
      this.send({ ...message, id });
    });
  }

  // Whether an answer is late.
  get late() {
    return [...this.asked.values()].some(({ at }) => Date.now() - at > LATE_MS);
  }

  // The place of a run among those this page has seen: new ones leave the others their colour.
  numberOf(run) {
    if (!this.numbers.has(run)) this.numbers.set(run, this.numbers.size);
    return this.numbers.get(run);
  }

  close() {
    clearInterval(this.timer);
    document.removeEventListener("visibilitychange", this.seen);
    for (const [name, act] of Object.entries(this.heed)) this.model.off(name, act);
    rooms.delete(this.model);
  }

  #alive() {
    const looks = [...this.views].some((view) => view.inSight) && document.visibilityState !== "hidden";
    if (looks && !this.gone) this.send({ t: "alive" });
  }

  #receive(content, buffers) {
    this.gone = false;
    if (content.t === "index" || content.t === "grew") {
      this.index = { ...this.index, progress: null, ...content };
      this.index.runs?.forEach((run) => this.numberOf(run));
      this.note = "";
    } else if (content.t === "note") {
      this.note = content.text;
    } else if (this.asked.has(content.id)) {
      const { answer } = this.asked.get(content.id);
      this.asked.delete(content.id);
      answer({ content, buffers });
    }
    this.#changed();
  }

  // Told when a widget manager gives its kernel up. One that speaks all the same is back.
  #broke() {
    this.gone = true;
    for (const { answer } of this.asked.values()) answer({ content: { t: "lost" }, buffers: [] });
    this.asked.clear();
    this.#changed();
  }

  #changed() {
    for (const view of this.views) view.changed();
  }
}
