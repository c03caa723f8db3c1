// The view of an output that is cleared and shown again, as by loops that call clear_output, moves to the
// new output. When an element leaves the page, the browser removes the focus, sends half-typed text, closes
// popovers and cancels a press of the mouse. This module restores them, and a press of a control that moved
// away from the pointer, as what is above it has grown.

import { focusedIn } from "./dom.js";

/** @typedef {{control: HTMLElement, place: DOMRect, moved: boolean}} Press */

const WAIT_MS = 2000; // for the new output
const PRESSED = "button, input, label, summary";

export class Moves {
  /** @type {HTMLElement | null} */
  focused = null;
  /** @type {Set<HTMLElement>} */
  popovers = new Set(); // the open ones
  /** @type {Press | null} */
  press = null;
  /** @type {Event[]} */
  held = []; // until it is known whether the user or a move has caused them
  /** @type {Set<EventTarget>} */
  unsent = new Set(); // the inputs whose change a move has caused
  /** @type {AbortController | null} */
  away = null; // as long as the view has no output
  /** @type {ReturnType<typeof setTimeout>} */
  timer = 0;

  /**
   * root: the root of the view; closed: called if there is no new output.
   * @param {HTMLElement} root
   * @param {() => void} closed
   */
  constructor(root, closed) {
    this.root = root;
    this.closed = closed;
    root.addEventListener("focusin", ({ target }) => {
      if (target instanceof HTMLElement) this.focused = target;
    });
    for (const type of ["change", "blur"])
      root.addEventListener(type, (event) => this.#hold(event), true);
    root.addEventListener("toggle", ({ target }) => this.#toggled(target), true);
    root.addEventListener("pointerdown", (event) => this.#pressed(event), true);
  }

  /** @param {Event} event */
  #hold(event) {
    const { target, type } = event;
    if (!event.isTrusted || !target) return;
    const isEdited = target instanceof HTMLInputElement && target.type !== "checkbox";
    if (isEdited && target === this.focused) {
      event.stopImmediatePropagation();
      if (!this.away) this.held.push(event);
      else if (type === "change") this.unsent.add(target);
    }
    setTimeout(() => this.#pass());
  }

  // Passes on what the user has caused.
  #pass() {
    if (this.away) return;
    if (this.root.isConnected) this.focused = focusedIn(this.root);
    for (const { target, type, bubbles } of this.held.splice(0)) {
      if (!target) continue;
      const isUnsent = this.unsent.delete(target);
      if (type === "blur" && isUnsent) target.dispatchEvent(new Event("change", { bubbles: true }));
      target.dispatchEvent(new Event(type, { bubbles }));
    }
  }

  /** @param {EventTarget | null} target */
  #toggled(target) {
    if (!(target instanceof HTMLElement) || target.popover !== "auto") return;
    if (target.matches(":popover-open")) this.popovers.add(target);
    else this.popovers.delete(target);
  }

  // A tap on a touch screen outlasts a move by itself.
  /** @param {PointerEvent} event */
  #pressed({ target, button, pointerType, pointerId }) {
    const control = target instanceof Element && target.closest(PRESSED);
    if (!(control instanceof HTMLElement) || button !== 0 || pointerType !== "mouse") return;
    const press = { control, place: control.getBoundingClientRect(), moved: false };
    this.press = press;
    const over = new AbortController();
    /** @param {PointerEvent} event */
    const end = (event) => {
      if (event.pointerId !== pointerId) return;
      over.abort();
      if (this.press === press) this.press = null;
      press.moved ||= control.isConnected && isAway(control, event);
      if (press.moved && event.type === "pointerup") this.#released(press, event);
    };
    for (const type of /** @type {const} */ (["pointerup", "pointercancel"]))
      addEventListener(type, end, { capture: true, signal: over.signal });
  }

  /**
   * Does for a control that has moved what the browser does for one that has not.
   * @param {Press} press
   * @param {PointerEvent} event
   */
  #released({ control, place }, event) {
    if (isSlider(control)) {
      this.unsent.delete(control);
      control.dispatchEvent(new Event("change"));
    } else if (isIn(place, event)) control.click();
  }

  // Called when the output of the view is gone.
  detached() {
    this.away = new AbortController();
    for (const { target, type } of this.held.splice(0))
      if (target && type === "change") this.unsent.add(target);
    if (this.press) this.press.moved = true;
    const { signal } = this.away;
    document.addEventListener("pointerdown", () => (this.focused = null), {
      capture: true,
      signal,
    });
    this.timer = setTimeout(() => this.close(), WAIT_MS);
  }

  /** @param {HTMLElement} host the new output */
  attach(host) {
    this.#stay();
    const { focused, popovers } = this;
    host.append(this.root);
    for (const popover of [...popovers]) {
      if (this.root.contains(popover)) popover.showPopover();
      else popovers.delete(popover);
    }
    focused?.focus({ preventScroll: true });
  }

  close() {
    this.#stay();
    this.closed();
  }

  #stay() {
    clearTimeout(this.timer);
    this.away?.abort();
    this.away = null;
  }
}

/** @param {HTMLElement} control */
function isSlider(control) {
  return control instanceof HTMLInputElement && control.type === "range";
}

/**
 * Whether the control, which the mouse has pressed, is elsewhere when it is released.
 * @param {HTMLElement} control
 * @param {PointerEvent} event
 */
function isAway(control, event) {
  return !isSlider(control) && !isIn(control.getBoundingClientRect(), event);
}

/**
 * @param {DOMRect} place
 * @param {PointerEvent} event
 */
function isIn({ left, right, top, bottom }, { clientX, clientY }) {
  return left <= clientX && clientX <= right && top <= clientY && clientY <= bottom;
}
