// The head of the panel: phase, numbers, progress, buttons, what became of the clicks.

import { el, say } from "./dom.js";

const GLYPHS = {
  created: "○", preparing: "◌", running: "▶", paused: "❚❚", stopping: "◍",
  finished: "✓", stopped: "■", failed: "✕",
};
const DOING = { pause: "Pausing…", resume: "Resuming…", save: "Saving…", restore: "Restoring…", stop: "Stopping…" };
const SIGNS = { requested: "…", applied: "✓", refused: "✕" };
const BUSY_AFTER_MS = 1500;

export class Controls {
  // send: posts a message to the kernel.
  constructor(send) {
    this.send = send;
    this.clicks = new Map(); // id -> {command, late}
    this.badge = el("span", { class: "nbt-badge", "data-role": "phase" });
    this.name = el("span", { class: "nbt-name", "data-role": "name" });
    this.engine = el("span", { class: "nbt-engine" });
    this.line = el("span", { class: "nbt-line", "data-role": "line" });
    this.fill = el("div", { class: "nbt-fill" });
    this.bar = el("div", { class: "nbt-bar", role: "progressbar", "aria-label": "progress", "aria-valuemin": 0, "aria-valuemax": 100, children: [this.fill] });
    this.buttons = Object.fromEntries(
      [["pause", "Pause"], ["resume", "Resume"], ["save", "Checkpoint now"], ["restore", "Restore"], ["stop", "Stop"]].map(
        ([command, label]) => [command, this.#button(command, label)],
      ),
    );
    this.choice = el("select", { "aria-label": "checkpoint to restore", "data-role": "checkpoints" });
    this.receipt = el("div", { class: "nbt-receipt", role: "status", "aria-live": "polite", "data-role": "receipt" });
    this.message = el("pre", { class: "nbt-message", "data-role": "message" });
    this.error = el("pre", { "data-role": "error", tabindex: 0 });
    this.failure = el("details", { class: "nbt-failure", open: "", children: [el("summary", { text: "The error that ended the run" }), this.error] });
    const { pause, resume, save, restore, stop } = this.buttons;
    const chosen = el("span", { class: "nbt-join", children: [restore, this.choice] });
    this.nodes = [
      el("div", { class: "nbt-head", children: [this.badge, this.name, this.engine, this.line] }),
      this.bar,
      el("div", { class: "nbt-buttons", children: [pause, resume, save, chosen, stop, this.receipt] }),
      this.message,
      this.failure,
    ];
  }

  // The kernel has taken a click.
  acknowledged(id) {
    const click = this.clicks.get(id);
    if (click) clearTimeout(click.timer);
    if (click) click.late = false;
  }

  show(status) {
    this.status = status;
    say(this.badge, status.phase && `${GLYPHS[status.phase] ?? ""} ${status.phase}`);
    say(this.name, status.name);
    say(this.engine, status.engine);
    this.line.replaceChildren(...(status.line ?? []).map(([label, text]) => el("span", { children: [el("small", { text: label }), ` ${text}`] })));
    this.#progress(status);
    this.#choices(status.checkpoints ?? []);
    for (const receipt of status.receipts ?? []) if (receipt.state !== "requested") this.#settle(receipt.id);
    const can = status.controls ?? {};
    for (const [command, button] of Object.entries(this.buttons)) button.disabled = !can[command] || this.#waits(command);
    this.buttons.resume.hidden = !can.resume;
    this.buttons.pause.hidden = Boolean(can.resume);
    this.choice.disabled = !can.restore;
    say(this.message, status.message);
    say(this.error, status.error);
    this.failure.hidden = !status.error;
    this.#tell(status);
  }

  destroy() {
    for (const { timer } of this.clicks.values()) clearTimeout(timer);
  }

  #button(command, label) {
    const button = el("button", { text: label, "data-command": command, type: "button" });
    button.addEventListener("click", () => this.#click(command));
    return button;
  }

  #click(command) {
    const id = crypto.randomUUID?.() ?? String(Math.random());
    const click = { command, late: false };
    click.timer = setTimeout(() => {
      click.late = true;
      this.show(this.status);
    }, BUSY_AFTER_MS);
    this.clicks.set(id, click);
    const checkpoint = command === "restore" ? this.choice.value || null : null;
    this.send({ t: "cmd", id, command, checkpoint });
    this.show(this.status);
  }

  #settle(id) {
    clearTimeout(this.clicks.get(id)?.timer);
    this.clicks.delete(id);
  }

  #waits(command) {
    return [...this.clicks.values()].some((click) => click.command === command);
  }

  #progress({ progress, phase }) {
    const known = typeof progress === "number";
    this.bar.classList.toggle("nbt-endless", !known && phase === "running");
    this.fill.style.width = known ? `${100 * progress}%` : "";
    if (known) this.bar.setAttribute("aria-valuenow", Math.round(100 * progress));
    else this.bar.removeAttribute("aria-valuenow");
  }

  // The list is only made anew when it changed: an open list must not close under the hand.
  #choices(checkpoints) {
    const key = checkpoints.map(({ path, text }) => path + text).join("\n");
    if (key === this.listed) return;
    this.listed = key;
    const kept = this.choice.value;
    const latest = el("option", { value: "", text: checkpoints.length ? "latest" : "no checkpoint yet" });
    this.choice.replaceChildren(latest, ...checkpoints.map(({ path, text }) => el("option", { value: path, text })));
    this.choice.value = checkpoints.some(({ path }) => path === kept) ? kept : "";
  }

  #tell(status) {
    const waiting = [...this.clicks.values()].at(-1);
    const receipt = (status.receipts ?? []).at(-1);
    this.receipt.dataset.state = waiting ? "requested" : (receipt?.state ?? "");
    if (waiting?.late) say(this.receipt, `${waiting.command} queued: the kernel is busy; it runs when the cell ends`);
    else if (waiting) say(this.receipt, DOING[waiting.command]);
    else if (receipt) say(this.receipt, `${SIGNS[receipt.state]} ${receipt.command}: ${receipt.text}`);
    else say(this.receipt, "");
    this.receipt.title = this.receipt.textContent;
  }
}
