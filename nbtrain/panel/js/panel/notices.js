// Browser notifications when a run ends or pauses while its page is hidden. They do not depend on a
// view, because a hidden page draws nothing.

import { ENDED } from "./clicks.js";

/** @import { Status } from "../protocol.d.ts" */

const NONE =
  "This page cannot show notifications: browsers allow them only over HTTPS or from localhost, and not in a frame.";
const REFUSED = "The browser blocks notifications from this page: allow them in its site settings.";

const MOST = 300; // characters of a notification

export class Notices {
  on = false; // whether the user wants them and the browser permits them
  refusal = ""; // the reason if the browser does not permit them

  /**
   * page: the window. changed: called when `on` or `refusal` has changed.
   * @param {() => void} changed
   * @param {any} [page]
   */
  constructor(changed, page = globalThis) {
    this.changed = changed;
    this.page = page;
  }

  // Turns them on or off. Call this from a click; otherwise the browser does not ask for permission.
  async toggle() {
    const { Notification } = this.page;
    const answer = this.on || !Notification ? "default" : await Notification.requestPermission();
    this.on = answer === "granted";
    this.refusal = !Notification ? NONE : answer === "denied" ? REFUSED : "";
    this.changed();
  }

  /**
   * Notifies the user if the phase has changed.
   * @param {Partial<Status>} status
   */
  update(status) {
    const before = this.phase;
    this.phase = status.phase;
    if (
      !before ||
      before === status.phase ||
      !this.on ||
      this.page.document.visibilityState !== "hidden"
    )
      return;
    const body = said(status);
    if (body === null) return;
    // A tag is shown only once, so other views of the run do not repeat it.
    const tag = `nbtrain ${status.name} ${status.phase} ${status.step}`;
    try {
      const shown = new this.page.Notification(`${status.name}: ${status.phase}`, { body, tag });
      shown.onclick = () => this.page.focus();
    } catch {
      this.on = false;
      this.refusal = NONE; // on phones, only a service worker may notify
      this.changed();
    }
  }
}

/**
 * The text for a phase; null for no notification, as for a pause that the user requested. The message of
 * any other pause has its step and reason.
 * @param {Partial<Status>} status
 */
function said({ phase, step = 0, failure, message, receipts }) {
  const at = `at step ${step.toLocaleString("en")}`;
  if (phase === "paused") {
    const last = receipts?.at(-1);
    const isAsked = last?.command === "pause" && last.state !== "refused";
    return isAsked ? null : (message ?? at).slice(0, MOST);
  }
  if (!phase || !ENDED.includes(phase)) return null;
  return failure ? `${at}: ${failure}` : at;
}
