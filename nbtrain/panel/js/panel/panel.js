// The panel of a run: an anywidget. One connection for each model, one view for each output.

import uplotCss from "uplot/dist/uPlot.min.css";
import { ChartGrid } from "./chart_grid.js";
import { Choices } from "./choices.js";
import { Clicks, ENDED } from "./clicks.js";
import { Controls } from "./controls.js";
import { el, say } from "../shared/dom.js";
import { Notes } from "./notes.js";
import { Statusbar } from "./statusbar.js";
import { Mailbox } from "./mailbox.js";
import { MarksMenu } from "./marks_menu.js";
import cardsCss from "../shared/cards/cards.css";
import chartsCss from "./charts.css";
import css from "../shared/common.css";
import { Log } from "./log.js";
import { Media } from "./media.js";
import { Config } from "./config.js";
import { Machine } from "./machine.js";
import mediaCss from "./media.css";
import logCss from "./log.css";
import panelCss from "./panel.css";
import { MessageActions } from "./message_actions.js";
import { widget } from "../shared/connection.js";
import { RunConnection } from "./run_connection.js";
import { hidePicture } from "../shared/still.js";
import trialCss from "./trial.css";
import { Tasks } from "./tasks.js";
import { TrialResult } from "./trial_result.js";
import { lastOf } from "../shared/collections.js";
import * as theme from "../shared/theme.js";

/** @import { Paint } from "../shared/theme.js" */

const QUIET = ["created", ...ENDED]; // phases in which the kernel sends no regular messages

const STYLE = uplotCss + css + panelCss + chartsCss + cardsCss + mediaCss + logCss + trialCss;

class View {
  /** @type {string | null} */
  silentSince = null;
  /** @type {Paint | null} */
  paints = null;
  frame = 0; // the requested animation frame; 0 if none
  visible = true;
  choices = new Choices(() => this.changed());
  tasks = new Tasks();
  config = new Config();
  note = el("div", { class: "nbt-notice", role: "status", "data-role": "note" });

  /**
   * @param {RunConnection} connection
   * @param {HTMLElement} host
   */
  constructor(connection, host) {
    this.connection = connection;
    this.clicks = new Clicks(
      (message) => connection.send(message),
      new Mailbox(() => connection.mailbox),
      () => this.changed(),
    );
    this.controls = new Controls(this.clicks);
    this.notes = new Notes(this.clicks);
    const state = () => ({
      marks: connection.store.marks,
      status: connection.store.status,
      silentSince: this.silentSince,
    });
    this.menu = new MarksMenu(this.clicks, state);
    this.messageActions = new MessageActions(this.clicks, state);
    this.trialResult = new TrialResult(this.clicks, state);
    this.charts = new ChartGrid(this.#charted);
    this.machine = new Machine(this.#charted, () => this.changed());
    const point = this.charts.pointAt.bind(this.charts);
    const { choices } = this;
    this.media = new Media({
      questions: connection.media,
      choices,
      paint: () => this.paint(),
      point,
    });
    this.log = new Log(connection.log, choices, point);
    this.statusbar = new Statusbar(connection.notices);
    this.root = this.#layout();
    host.append(this.root);
    this.observer = new IntersectionObserver((entries) => {
      this.visible = lastOf(entries).isIntersecting;
      this.changed();
    });
    this.observer.observe(this.root);
    this.unwatch = theme.watch(() => this.retheme());
    this.changed();
  }

  /** @returns {ConstructorParameters<typeof ChartGrid>[0]} */
  get #charted() {
    return {
      store: this.connection.store,
      choices: this.choices,
      paint: () => this.paint(),
      open: (marks, anchor, left) => this.menu.open(marks, anchor, left),
      pointed: (step) => this.media.pointAt(step),
      chosen: (step) => this.media.root.open && this.media.choose(step),
    };
  }

  #layout() {
    const { controls, notes } = this;
    const root = el("div", {
      class: "nbt nbt-panel",
      children: [
        el("style", { text: STYLE }),
        ...controls.nodes,
        this.charts.root,
        this.media.root,
        this.tasks.root,
        this.config.root,
        this.machine.root,
        this.log.root,
        this.statusbar.root,
        this.menu.popover.root,
      ],
    });
    controls.engine.after(notes.tags);
    this.statusbar.words.after(...controls.questions);
    controls.trial.button.after(notes.button, notes.popover.root);
    controls.message.after(this.messageActions.root, this.trialResult.root);
    controls.notice.before(this.note);
    return root;
  }

  // The colours of the current theme.
  paint() {
    return this.paints ?? theme.paints(this.root);
  }

  // Reads the colours, which is possible only once the view is in the document.
  retheme() {
    if (!this.root.isConnected) return;
    this.root.dataset.theme = theme.isDark(this.root) ? "dark" : "light";
    this.paints = theme.paints(this.root);
    this.charts.repaint();
    this.media.repaint();
    this.machine.charts.repaint();
  }

  // Draws once in the next frame, however many changes arrive before it.
  changed() {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      this.draw();
    });
  }

  // Draws the view. If it is not in the document yet, the observers cause this later.
  draw() {
    if (!this.root.isConnected) return;
    if (!this.paints) this.retheme();
    const { store, contact, note } = this.connection;
    const { status } = store;
    const { phase = "" } = status;
    const silentSince = QUIET.includes(phase) ? null : contact.silentSince;
    this.silentSince = silentSince;
    if (phase) hidePicture(this.root);
    this.root.dataset.phase = phase;
    this.root.dataset.step = String(status.step ?? "");
    this.root.classList.toggle("nbt-silent", silentSince !== null);
    this.controls.show(status, silentSince, contact.gone);
    say(this.note, note);
    this.notes.show(status, silentSince);
    this.messageActions.show();
    this.trialResult.show();
    if (this.menu.popover.isOpen) this.menu.show();
    this.tasks.show(status);
    this.media.show(status);
    this.log.show(status);
    this.statusbar.show(status, this.connection.feed.answers);
    this.charts.draw(status.last, this.visible);
    this.config.show(status);
    this.machine.draw(status.last, this.visible);
  }

  close() {
    cancelAnimationFrame(this.frame);
    this.observer.disconnect();
    this.unwatch();
    this.clicks.destroy();
    this.choices.close();
    this.charts.close();
    this.media.close();
    this.machine.charts.close();
    this.log.close();
    this.root.remove();
  }
}

export default widget(RunConnection, View);
