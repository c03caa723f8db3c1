// What the kernel has for a page, asked for again when there may be more.

export class Latest {
  // take: called with the answer, {content, buffers}, if it is another one.
  constructor(room, take) {
    Object.assign(this, { room, take, asked: null, known: null });
  }

  // Ask, unless the answer to this question is here; one question at a time, the newest last.
  async want(message, version) {
    const key = JSON.stringify([message, version]);
    this.wanted = [message, version, key];
    if (this.asking || this.asked === key || this.room.gone) return;
    this.asking = true;
    const { content, buffers } = await this.room.ask({ ...message, known: this.known });
    this.asking = false;
    if (content.t === "lost") return;
    this.asked = key;
    if (content.t !== "same") {
      this.known = content.known ?? null;
      this.take({ content, buffers });
    }
    const [next, at, other] = this.wanted;
    if (other !== key) this.want(next, at);
  }
}
