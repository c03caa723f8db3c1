// The visible cards of a page. The others need neither data nor a canvas.

const PASSING_MS = 80; // a card visible for less was scrolled past

/** @template {{root: HTMLElement}} Card */
export class Viewport {
  /**
   * shown: called with a card that stays visible; hidden: called when it no longer is.
   * @param {{shown: (card: Card) => void, hidden: (card: Card) => void}} act
   */
  constructor({ shown, hidden }) {
    this.shown = shown;
    this.hidden = hidden;
    /** @type {Set<Card>} */
    this.visible = new Set();
    this.observer = new IntersectionObserver(
      (entries) => entries.forEach((entry) => this.#changed(entry)),
      { rootMargin: "120px" },
    );
  }

  /** @param {Card} card */
  watch(card) {
    Object.assign(card.root, { card });
    this.observer.observe(card.root);
  }

  // Call this when cards may have left the page, which the browser reports late or never. It also does
  // not report a card that was away for less than a frame, so such a card is observed again.
  recheck() {
    for (const card of this.visible) {
      if (card.root.isConnected) continue;
      this.#hide(card);
      this.observer.unobserve(card.root);
      this.observer.observe(card.root);
    }
  }

  /**
   * Call this with a card that will not come back.
   * @param {Card} card
   */
  leave(card) {
    this.observer.unobserve(card.root);
    this.#hide(card);
  }

  // Entries that arrive later belong to no card.
  close() {
    this.observer.disconnect();
    for (const card of this.visible) this.#hide(card);
  }

  /** @param {IntersectionObserverEntry} entry */
  #changed({ target, isIntersecting }) {
    const { card } = /** @type {Element & {card: Card}} */ (target);
    if (!isIntersecting) return this.#hide(card);
    this.visible.add(card);
    setTimeout(() => this.visible.has(card) && this.shown(card), PASSING_MS);
  }

  /** @param {Card} card */
  #hide(card) {
    if (this.visible.delete(card)) this.hidden(card);
  }
}
