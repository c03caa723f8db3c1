// The silence of the kernel. Silence is counted in polls, not in seconds, because a page that slept
// or was hidden has not waited.

const PATIENCE = 4; // polls in a row without a message; a live run sends one every ten seconds

export class Contact {
  /**
   * now: returns the present time, a Date.
   * @param {() => Date} [now]
   */
  constructor(now = () => new Date()) {
    this.now = now;
    this.heardAt = now();
    this.polls = 0; // since then
    this.gone = false; // whether there is no need to wait
  }

  // Notes a message of the kernel.
  heard() {
    this.heardAt = this.now();
    this.polls = 0;
    this.gone = false;
  }

  // Counts a look of a visible page.
  poll() {
    this.polls += 1;
  }

  // Notes that the connection to the kernel is gone, so that there is no need to wait.
  disconnected() {
    this.gone = true;
    this.polls = PATIENCE;
  }

  // The time of its last message, like "12:04:33"; null unless it is silent.
  get silentSince() {
    return this.polls < PATIENCE ? null : this.heardAt.toTimeString().slice(0, 8);
  }
}
