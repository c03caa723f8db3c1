// Which cards of a page are in sight. What is not needs neither data nor a canvas.

const PASSING_MS = 80; // a card that is in sight for less was scrolled past

/** @template {{root: HTMLElement}} Card */
export class Viewport {
  /**
   * shown: called with a card that stays in sight; hidden: with one that is no longer.
   * @param {{shown: (card: Card) => void, hidden: (card: Card) => void}} told
   */
  constructor({ shown, hidden }) {
    this.shown = shown;
    this.hidden = hidden;
    /** @type {Set<Card>} */
    this.seen = new Set();
    this.observer = new IntersectionObserver(
      (entries) => entries.forEach((entry) => this.#sighted(entry)),
      { rootMargin: "120px" },
    );
  }

  /** @param {Card} card */
  watch(card) {
    Object.assign(card.root, { card });
    this.observer.observe(card.root);
  }

  // To be called when cards may have left the page: that is told late, or never.
  recheck() {
    for (const card of this.seen) if (!card.root.isConnected) this.#hide(card);
  }

  /**
   * To be called with a card that will not come again.
   * @param {Card} card
   */
  leave(card) {
    this.observer.unobserve(card.root);
    this.#hide(card);
  }

  // What arrives later is for no card any more.
  close() {
    this.observer.disconnect();
    for (const card of this.seen) this.#hide(card);
  }

  /** @param {IntersectionObserverEntry} entry */
  #sighted({ target, isIntersecting }) {
    const { card } = /** @type {Element & {card: Card}} */ (target);
    if (!isIntersecting) return this.#hide(card);
    this.seen.add(card);
    setTimeout(() => this.seen.has(card) && this.shown(card), PASSING_MS);
  }

  /** @param {Card} card */
  #hide(card) {
    if (this.seen.delete(card)) this.hidden(card);
  }
}
