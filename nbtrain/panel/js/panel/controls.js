// The head of the panel: phase, numbers, progress, buttons, and the answers to clicks.

import { button, el, partOf, say, shorten } from "../shared/dom.js";
import { DOING, LABELS, onItsWay } from "./command_words.js";
import { Hyperparameters } from "./hyperparameters.js";
import { labelOf, latestLabel } from "./marks.js";
import { Trial } from "./trial.js";

/** @import { Checkpoint, Command, Phase, Receipt, Status } from "../protocol.d.ts" */
/** @import { Clicks } from "./clicks.js" */

/** @typedef {Exclude<Command["command"], "set" | "try" | "note" | "tag" | "why_nan">} Plain A command that a button sends. */

/** @type {Record<Phase, string>} */
const GLYPHS = {
  created: "○",
  preparing: "◌",
  running: "▶",
  paused: "❚❚",
  stopping: "◍",
  finished: "✓",
  stopped: "■",
  failed: "✕",
};
const BUTTONS = ["pause", "save", "restore", "stop", "evaluate", "why_slow", "look_inside"];
/** @type {Record<string, string>} */
const TITLES = {
  save: "Save a checkpoint now",
  why_slow: "Measure where the time of a step goes, and what would make it shorter",
  look_inside: "Look at the activations, gradients and updates of the layers",
};
const PACE = ["speed", "left"]; // numbers that are out of date once the kernel is silent

export class Controls {
  /** @type {Partial<Status>} */
  status = {};
  /** @type {Checkpoint[] | null} */
  checkpoints = null; // in the list
  listed = "";

  badge = el("span", { class: "nbt-badge", role: "status", "data-role": "phase" });
  name = el("span", { class: "nbt-name", "data-role": "name" });
  engine = el("span", { class: "nbt-engine" });
  line = el("span", { class: "nbt-line", "data-role": "line" });
  fill = el("div", { class: "nbt-fill" });
  bar = el("div", {
    class: "nbt-bar",
    role: "progressbar",
    "aria-label": "progress",
    "aria-valuemin": 0,
    "aria-valuemax": 100,
    children: [this.fill],
  });
  choice = el("select", { "aria-label": "checkpoint to restore", "data-role": "checkpoints" });
  receipt = el("div", { class: "nbt-receipt", role: "status", "data-role": "receipt" });
  silence = el("div", { class: "nbt-silence", role: "status", "data-role": "silence" });
  notice = el("div", { class: "nbt-notice", role: "status", "data-role": "notice" });
  message = el("pre", { class: "nbt-message", role: "status", "data-role": "message" });
  error = el("pre", { "data-role": "error", tabindex: 0 });
  failure = el("details", {
    class: "nbt-failure",
    open: "",
    children: [el("summary", { text: "The error that ended the run" }), this.error],
  });

  /** @param {Clicks} clicks */
  constructor(clicks) {
    this.clicks = clicks;
    this.hyperparameters = new Hyperparameters(clicks);
    this.trial = new Trial(
      clicks,
      (receipt) => (this.tried = receipt && { receipt, after: this.#latest()?.id }),
    );
    this.buttons = BUTTONS.map((command) => this.#button(command));
    const [turn, save, restore, stop, evaluate, ...questions] = this.buttons;
    this.turn = turn; // pauses or resumes
    this.evaluate = evaluate;
    this.questions = questions; // beside the use of time
    const chosen = el("span", { class: "nbt-join", children: [restore, this.choice] });
    this.nodes = [
      el("div", { class: "nbt-head", children: [this.badge, this.name, this.engine, this.line] }),
      this.bar,
      el("div", {
        class: "nbt-buttons",
        children: [turn, save, chosen, evaluate, this.trial.button, stop, this.receipt],
      }),
      this.hyperparameters.root,
      this.trial.popover.root,
      this.notice,
      this.silence,
      this.message,
      this.failure,
    ];
  }

  /**
   * silentSince: the time of the kernel's last message if it is silent; else null.
   * gone: whether the connection to the kernel is lost.
   * @param {Partial<Status>} status
   * @param {string | null} silentSince
   * @param {boolean} gone
   */
  show(status, silentSince, gone) {
    this.status = status;
    this.silentSince = silentSince;
    say(this.badge, status.phase && badgeOf(status, silentSince));
    const why = gone
      ? `it has exited or was restarted. ${next(status)}`
      : "it may be busy or have exited.";
    say(this.silence, silentSince && `No word from the kernel since ${silentSince}: ${why}`);
    say(this.name, status.name);
    say(this.engine, status.engine);
    this.engine.title = status.trained_by ?? "";
    const line = status.line ?? [];
    this.#showNumbers(silentSince ? line.filter(([label]) => !PACE.includes(label)) : line);
    this.#showProgress(status);
    this.#listCheckpoints(status.checkpoints ?? [], status.latest);
    say(this.notice, status.notice);
    say(this.message, status.message);
    say(this.error, status.error);
    this.failure.hidden = !status.error;
    this.clicks.settle(status);
    this.hyperparameters.show(status, silentSince);
    this.#updateButtons();
  }

  /** @param {string} command */
  #button(command) {
    const node = button({ text: LABELS[command], "data-command": command }, () =>
      this.#click(commandOf(node)),
    );
    if (TITLES[command]) node.title = TITLES[command];
    return node;
  }

  /** @param {Plain} command */
  #click(command) {
    if (this.clicks.of(command)) return;
    if (command !== "restore") this.clicks.post({ command });
    else
      this.clicks.post({ command, checkpoint: this.choice.value || (this.status.latest ?? null) });
  }

  // Updates the buttons. A waiting button stays in the tab order and so keeps the focus.
  #updateButtons() {
    /** @type {Partial<Status["controls"]>} */
    const controls = this.status.controls ?? {};
    const can = this.silentSince ? {} : controls;
    if (!this.silentSince && !this.clicks.of(commandOf(this.turn)))
      this.turn.dataset.command = can.resume ? "resume" : "pause";
    for (const button of this.buttons) {
      const command = commandOf(button);
      const waiting = !this.silentSince && this.clicks.of(command);
      say(button, waiting ? DOING[command] : LABELS[command]);
      button.disabled = !can[command] && !waiting;
      button.setAttribute("aria-disabled", String(button.disabled || Boolean(waiting)));
    }
    this.choice.disabled = !can.restore;
    this.evaluate.hidden = !("evaluate" in controls);
    this.trial.show(this.status, controls.try && Boolean(can.try));
    this.#showReceipt();
  }

  #latest() {
    return this.status.receipts?.at(-1);
  }

  // Shows the newest answer. The answer of a trial arrives late and stays until the next one.
  #showReceipt() {
    const waiting = this.silentSince ? null : this.clicks.latest;
    const latest = this.#latest();
    const tried = latest && this.tried?.after === latest.id ? this.tried.receipt : null;
    const left = tried?.state === "refused" && tried.id !== latest?.id; // by a restore, for example
    const receipt = this.clicks.answer ?? (left ? latest : (tried ?? latest));
    const more = left && receipt?.id !== tried.id ? ` · ✕ ${tried.command}: ${tried.text}` : "";
    this.receipt.dataset.state = waiting ? "requested" : (receipt?.state ?? "");
    if (waiting?.late) say(this.receipt, onItsWay(waiting));
    else if (waiting) say(this.receipt, DOING[waiting.command]);
    else if (receipt?.state === "applied") say(this.receipt, `✓ ${receipt.text}${more}`);
    else if (receipt?.state === "requested")
      say(this.receipt, this.silentSince ? "" : (DOING[receipt.command] ?? "…"));
    else {
      const sign = receipt?.state === "unanswered" ? "?" : "✕";
      say(this.receipt, receipt && `${sign} ${receipt.command}${this.#reasonOf(receipt)}${more}`);
    }
  }

  /**
   * The reason of a refusal, unless the row of the hyperparameter already shows it.
   * @param {Receipt} receipt
   */
  #reasonOf(receipt) {
    const row = this.hyperparameters.refused(receipt);
    return row ? ` ${row}: refused` : `: ${receipt.text}`;
  }

  /**
   * Shows the numbers. The elements stay, so that selected text stays selected.
   * @param {Status["line"]} pairs
   */
  #showNumbers(pairs) {
    shorten(this.line, pairs.length);
    pairs.forEach(([label, text], i) => {
      const pair =
        this.line.children[i] ?? el("span", { children: [el("small"), " ", el("span")] });
      if (!pair.isConnected) this.line.append(pair);
      say(partOf(pair, "small"), label);
      const number = partOf(pair, "span");
      say(number, text);
      number.dataset.role = label;
    });
  }

  /** @param {Partial<Status>} status */
  #showProgress({ progress, phase }) {
    const known = typeof progress === "number";
    this.bar.classList.toggle("nbt-endless", !known && phase === "running" && !this.silentSince);
    this.fill.style.width = known ? `${100 * progress}%` : this.silentSince ? "0" : "";
    if (known) this.bar.setAttribute("aria-valuenow", String(Math.round(100 * progress)));
    else this.bar.removeAttribute("aria-valuenow");
  }

  /**
   * Lists the checkpoints. Does not replace an equal list, because that would close an open one.
   * @param {Checkpoint[]} checkpoints
   * @param {string | null} [latest]
   */
  #listCheckpoints(checkpoints, latest) {
    if (checkpoints === this.checkpoints) return;
    this.checkpoints = checkpoints;
    const first = ["", latestLabel(checkpoints, latest)];
    const options = [first, ...checkpoints.map((each) => [each[0], labelOf(each)])];
    const key = JSON.stringify(options);
    if (key === this.listed) return;
    this.listed = key;
    const kept = this.choice.value;
    this.choice.replaceChildren(...options.map(([value, text]) => el("option", { value, text })));
    this.choice.value = options.some(([value]) => value === kept) ? kept : "";
  }
}

/**
 * The phase; and what has paused the run if that was a bad value.
 * @param {Partial<Status>} status
 * @param {string | null} silentSince
 */
function badgeOf({ phase = "created", message, open_nan }, silentSince) {
  if (silentSince) return `was ${phase}`;
  const shown = `${GLYPHS[phase] ?? ""} ${phase}`;
  if (phase !== "paused" || !message || typeof open_nan !== "number") return shown;
  return `${shown} at ${/\bNaN\b/.test(message) ? "NaN" : "a bad loss"}`;
}

/** @param {HTMLButtonElement} button */
function commandOf({ dataset }) {
  return /** @type {Plain} */ (dataset.command);
}

/**
 * The advice for continuing without the kernel.
 * @param {Partial<Status>} status
 */
function next({ name, trained_by, mailbox }) {
  if (!trained_by) return `To continue the run, run its cells again with the same name, ${name}.`;
  // A cell that launched the run would launch it again.
  const folder = mailbox ? JSON.stringify(mailbox.folders[0]) : "its folder";
  return `The run does not need it: ${trained_by} trains. To follow it again, call nbtrain.attach(${folder}).`;
}
