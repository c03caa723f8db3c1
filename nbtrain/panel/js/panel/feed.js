// How a page gets the news of a run. The kernel sends it by itself, but some front ends drop what a
// thread sends while the kernel executes nothing (Colab). A page that hears nothing pulls: it asks the
// kernel every second.

const LOST = 10; // seconds without an answer after which it asks again

export class Feed {
  pulls = false; // whether the page asks for its news
  answers = false; // whether the last news answered a question of this page
  #silent = 0; // seconds since the last news
  #waiting = 0; // seconds since the question without an answer

  /**
   * ask: sends a question.
   * @param {() => void} ask
   */
  constructor(ask) {
    this.ask = ask;
  }

  /**
   * Called with each piece of news.
   * @param {boolean} pulled True for the answer to a question; else the kernel has sent it by itself.
   */
  heard(pulled) {
    this.#silent = this.#waiting = 0;
    this.pulls &&= pulled;
    this.answers = this.pulls;
  }

  // Called every second while the page is hidden, or nothing more will come.
  rest() {
    this.pulls = this.answers = false;
    this.#silent = this.#waiting = 0;
  }

  /**
   * Called every second while the page is visible and the run has not ended.
   * @param {number} patience Seconds without news after which the page pulls.
   */
  second(patience) {
    this.#silent += 1;
    this.pulls ||= this.#silent >= patience;
    if (!this.pulls) return;
    const isDue = this.#waiting === 0 || this.#waiting >= LOST;
    this.#waiting = isDue ? 1 : this.#waiting + 1;
    if (isDue) this.ask();
  }
}
