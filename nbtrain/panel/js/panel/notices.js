// Notifications of the browser: of what befalls a run while nobody sees its page. No view has a
// part in it: of a hidden page none is drawn.

/** @import { Status } from "../protocol.d.ts" */

const NONE =
  "This page cannot notify: browsers let only pages do so that come over https or from this machine, and stand in no frame.";
const REFUSED =
  "The browser refuses notifications of this page: allow them in its settings of the site.";
const ENDS = ["finished", "stopped", "failed"];

export class Notices {
  on = false; // whether it was asked for, and the browser lets us
  refusal = ""; // in words, why not

  /**
   * page: the window. changed: called when `on` or `refusal` is another.
   * @param {() => void} changed
   * @param {any} [page]
   */
  constructor(changed, page = globalThis) {
    this.changed = changed;
    this.page = page;
  }

  // On a click, or else the browser does not ask its reader.
  async toggle() {
    const { Notification } = this.page;
    const answer = this.on || !Notification ? "default" : await Notification.requestPermission();
    this.on = answer === "granted";
    this.refusal = !Notification ? NONE : answer === "denied" ? REFUSED : "";
    this.changed();
  }

  /**
   * What has arrived of a run.
   * @param {Partial<Status>} status
   */
  look(status) {
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
    // Other views of the run say the same: a tag is shown once.
    const tag = `nbtrain ${status.name} ${status.phase} ${status.step}`;
    try {
      const shown = new this.page.Notification(`${status.name}: ${status.phase}`, { body, tag });
      shown.onclick = () => this.page.focus();
    } catch {
      this.on = false;
      this.refusal = NONE; // a phone's browser: only a service worker may
      this.changed();
    }
  }
}

/**
 * What is to be said of a phase; null: nothing. Who has asked for a pause knows of it.
 * @param {Partial<Status>} status
 */
function said({ phase, step, failure, message, receipts }) {
  const at = `at step ${step.toLocaleString("en")}`;
  const last = receipts?.at(-1);
  if (phase === "paused")
    return last?.command === "pause" && last.state !== "refused"
      ? null
      : `${at}. ${message ?? ""}`.slice(0, 300);
  if (!ENDS.includes(phase)) return null;
  return failure ? `${at}: ${failure}` : at;
}
