// Whether the kernel still speaks. Patience is counted in looks, not in seconds: a page that
// slept, or was out of sight, has not waited.

const PATIENCE = 4; // looks in a row without a word; a live run says one every ten seconds

export class Contact {
  /**
   * now: gives the time of day, a Date.
   * @param {() => Date} [now]
   */
  constructor(now = () => new Date()) {
    this.now = now;
    this.heard();
  }

  // The kernel has spoken.
  heard() {
    this.heardAt = this.now();
    this.looks = 0;
    this.gone = false;
  }

  // Time has passed, and somebody was looking.
  look() {
    this.looks += 1;
  }

  // There is no way to the kernel any more: it has gone, it need not be waited for.
  broke() {
    this.gone = true;
    this.looks = PATIENCE;
  }

  // The time of its last word, like "12:04:33"; null while it speaks.
  get silentSince() {
    return this.looks < PATIENCE ? null : this.heardAt.toTimeString().slice(0, 8);
  }
}
