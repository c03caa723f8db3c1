// A view whose output is cleared and shown again, as by loops that call clear_output, moves to the new
// output. As an element leaves the page, the browser ends what the user is about to do with it: it takes
// the focus away, sends what is half typed, closes boxes, and drops a press. Here all that outlasts the move.

import { focusedIn } from "./dom.js";

/** @typedef {{control: HTMLElement, place: DOMRect, moved: boolean}} Press */

const WAIT_MS = 2000; // for the new output
const PRESSED = "button, input, label, summary";

export class Moves {
  /** @type {HTMLElement | null} */
  focused = null;
  /** @type {Set<HTMLElement>} */
  boxes = new Set(); // the open ones
  /** @type {Press | null} */
  press = null;
  /** @type {Event[]} */
  held = []; // until it is known whether the user or a move has caused them
  /** @type {Event[]} */
  kept = []; // the changes that a move has caused, until the user leaves their control
  away = false;
  /** @type {ReturnType<typeof setTimeout>} */
  timer = 0;

  /**
   * root: of the view; gone: called if there is no new output.
   * @param {HTMLElement} root
   * @param {() => void} gone
   */
  constructor(root, gone) {
    this.root = root;
    this.gone = gone;
    root.addEventListener("focusin", () => (this.focused = focusedIn(root)));
    for (const type of ["change", "blur"])
      root.addEventListener(type, (event) => this.#hold(event), true);
    root.addEventListener("toggle", ({ target }) => this.#toggled(target), true);
    root.addEventListener("pointerdown", ({ target }) => this.#pressed(target), true);
    root.addEventListener("pointercancel", () => (this.press = null));
  }

  /** @param {Event} event */
  #hold(event) {
    const { target } = event;
    const isEdited = target instanceof HTMLInputElement && target.type !== "checkbox";
    if (!event.isTrusted || !isEdited || target !== this.focused) return;
    event.stopImmediatePropagation();
    this.held.push(event);
    setTimeout(() => this.#release());
  }

  // Passes on what the user has caused.
  #release() {
    if (this.away || !this.held.length) return;
    const events = [...this.kept, ...this.held];
    this.kept = [];
    this.held = [];
    for (const { target, type, bubbles } of events)
      target?.dispatchEvent(new Event(type, { bubbles }));
    this.focused = focusedIn(this.root);
  }

  /** @param {EventTarget | null} box */
  #toggled(box) {
    if (!(box instanceof HTMLElement) || !box.popover) return;
    if (box.matches(":popover-open")) this.boxes.add(box);
    else this.boxes.delete(box);
  }

  /** @param {EventTarget | null} target */
  #pressed(target) {
    const control = target instanceof Element && target.closest(PRESSED);
    if (!(control instanceof HTMLElement)) return;
    const press = { control, place: control.getBoundingClientRect(), moved: false };
    this.press = press;
    addEventListener("pointerup", (event) => this.#released(press, event), {
      capture: true,
      once: true,
    });
  }

  /**
   * Does for a control that has moved what the browser does for one that has not.
   * @param {Press} press
   * @param {PointerEvent} event
   */
  #released(press, { clientX, clientY }) {
    if (this.press !== press) return;
    this.press = null;
    if (!press.moved) return;
    const { control, place } = press;
    const across = place.left <= clientX && clientX <= place.right;
    const down = place.top <= clientY && clientY <= place.bottom;
    if (control instanceof HTMLInputElement && control.type === "range")
      control.dispatchEvent(new Event("change"));
    else if (across && down) control.click();
  }

  // Waits for the new output.
  leave() {
    this.away = true;
    this.kept.push(...this.held.filter(({ type }) => type === "change"));
    this.held = [];
    if (this.press) this.press.moved = true;
    this.timer = setTimeout(() => this.gone(), WAIT_MS);
  }

  end() {
    clearTimeout(this.timer);
    this.gone();
  }

  /** @param {HTMLElement} host the new output */
  enter(host) {
    clearTimeout(this.timer);
    this.away = false;
    const { focused, boxes } = this;
    host.append(this.root);
    for (const box of [...boxes]) box.showPopover();
    focused?.focus({ preventScroll: true });
  }
}
