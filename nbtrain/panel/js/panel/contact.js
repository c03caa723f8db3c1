// The silence of the kernel, counted in polls instead of seconds: a page that slept or was hidden has
// not waited.

const PATIENCE = 4; // polls in a row without a message; a live run sends one every ten seconds

export class Contact {
  /**
   * now: returns the present time, a Date.
   * @param {() => Date} [now]
   */
  constructor(now = () => new Date()) {
    this.now = now;
    this.heardAt = now();
    this.polls = 0; // since the last message
    this.gone = false; // whether the connection is lost
  }

  // Called at each message of the kernel.
  heard() {
    this.heardAt = this.now();
    this.polls = 0;
    this.gone = false;
  }

  // Called regularly while the page is visible.
  poll() {
    this.polls += 1;
  }

  // Called when the connection to the kernel is lost: the kernel is silent at once.
  disconnected() {
    this.gone = true;
    this.polls = PATIENCE;
  }

  // The time of the last message, like "12:04:33"; null unless the kernel is silent.
  get silentSince() {
    return this.polls < PATIENCE ? null : this.heardAt.toTimeString().slice(0, 8);
  }
}
