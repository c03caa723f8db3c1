// The panel of a run: an anywidget. One connection for each model, one view for each output.

import uplotCss from "uplot/dist/uPlot.min.css";
import { Chart } from "./chart.js";
import { Clicks } from "./clicks.js";
import { isAbandoned } from "../shared/columns.js";
import { Controls } from "./controls.js";
import { el } from "../shared/dom.js";
import { Statusbar } from "./statusbar.js";
import { MarksMenu } from "./marks_menu.js";
import css from "../shared/common.css";
import { Rescue } from "./rescue.js";
import { widget } from "../shared/connection.js";
import { RunConnection } from "./run_connection.js";
import { stand } from "../shared/still.js";
import * as theme from "../shared/theme.js";

/** @import { Status } from "../protocol.d.ts" */
/** @import { Mark, TagLine } from "../types.d.ts" */

const UNTOLD = ["created", "finished", "stopped", "failed"]; // phases in which nothing is to be heard
let panels = 0;

class View {
  /**
   * @param {RunConnection} connection
   * @param {HTMLElement} host
   */
  constructor(connection, host) {
    this.connection = connection;
    this.clicks = new Clicks(
      (message) => connection.send(message),
      () => this.changed(),
    );
    this.controls = new Controls(this.clicks);
    const state = () => ({
      marks: connection.store.marks,
      status: connection.store.status,
      silentSince: this.silentSince,
    });
    this.menu = new MarksMenu(this.clicks, state);
    this.rescue = new Rescue(this.clicks, state);
    /** @type {Map<string, {chart: Chart, shows: string}>} */
    this.charts = new Map(); // by tag; shows: what of its lines and marks
    this.inSight = true;
    this.syncKey = `nbtrain-${panels++}`;
    this.grid = el("div", { class: "nbt-grid" });
    const style = el("style", { text: uplotCss + css });
    this.statusbar = new Statusbar(connection.notices);
    this.root = el("div", {
      class: "nbt",
      children: [
        style,
        ...this.controls.nodes,
        this.grid,
        this.statusbar.root,
        this.menu.popover.root,
      ],
    });
    this.controls.message.after(this.rescue.root);
    host.append(this.root);
    this.size = new ResizeObserver(() => this.each((chart) => chart.resize()));
    this.size.observe(this.grid);
    this.observer = new IntersectionObserver((entries) => {
      this.inSight = entries.at(-1).isIntersecting;
      this.changed();
    });
    this.observer.observe(this.root);
    this.unwatch = theme.watch(() => this.retheme());
    this.changed();
  }

  /** @param {(chart: Chart) => void} act */
  each(act) {
    for (const { chart } of this.charts.values()) act(chart);
  }

  // Colours can be read only in the document: a view is often made before it is put there.
  retheme() {
    if (!this.root.isConnected) return;
    this.root.dataset.theme = theme.isDark(this.root) ? "dark" : "light";
    this.paints = theme.paints(this.root);
    this.each((chart) => chart.repaint());
  }

  // Something is new; drawn once in the next frame, however much arrives until then.
  changed() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = undefined;
      this.draw();
    });
  }

  // A view that is not in the document yet is drawn when the observers see it arrive.
  draw() {
    if (!this.root.isConnected) return;
    if (!this.paints) this.retheme();
    const { store, contact } = this.connection;
    const { status, charts } = store;
    const silentSince = UNTOLD.includes(status.phase) ? null : contact.silentSince;
    this.silentSince = silentSince;
    if (status.phase) stand(this.root);
    this.root.dataset.phase = status.phase ?? "";
    this.root.dataset.step = String(status.step ?? "");
    this.root.classList.toggle("nbt-silent", silentSince !== null);
    this.controls.show(status, silentSince, contact.gone);
    this.rescue.show();
    if (this.menu.popover.isOpen) this.menu.show();
    this.statusbar.show(status);
    const one = charts.length === 1;
    const before = this.grid.classList.contains("nbt-one");
    this.grid.classList.toggle("nbt-one", one);
    this.keep(charts.map(([{ tag }]) => tag));
    for (const lines of charts) this.drawChart(lines, status.last);
    // Beside a second chart the first is half as wide, and the grid as large as before.
    if (before && !one) this.each((chart) => chart.resize());
  }

  /**
   * A validation leaves its own chart when what it validates comes.
   * @param {string[]} tags
   */
  keep(tags) {
    for (const [tag, { chart }] of this.charts) {
      if (tags.includes(tag)) continue;
      chart.destroy();
      chart.root.remove();
      this.charts.delete(tag);
    }
  }

  /**
   * Out of sight the words go on, and the drawing waits.
   * @param {TagLine[]} lines
   * @param {Status["last"]} [last]
   */
  drawChart(lines, last = {}) {
    const [{ tag }] = lines;
    if (!this.charts.has(tag)) {
      const chart = new Chart({
        tag,
        syncKey: this.syncKey,
        paint: () => this.paints,
        open: (marks, anchor, left) => this.menu.open(marks, anchor, left),
      });
      this.charts.set(tag, { chart, shows: "" });
      this.grid.append(chart.root);
    }
    const { store } = this.connection;
    const shown = this.charts.get(tag);
    const shows = [...lines.map((line) => store.changedAt(line.tag)), store.markedAt].join();
    shown.chart.head.say(
      lines.map((line) => ({
        ...line,
        last: last[line.tag],
        abandoned: isAbandoned(store.of(line.tag)),
      })),
    );
    if (!this.inSight || shown.shows === shows) return;
    shown.shows = shows;
    shown.chart.draw(
      lines.map((line) => ({ ...line, curves: store.of(line.tag) })),
      store.marks,
    );
  }

  close() {
    cancelAnimationFrame(this.frame);
    this.size.disconnect();
    this.observer.disconnect();
    this.unwatch();
    this.clicks.destroy();
    this.each((chart) => chart.destroy());
    this.root.remove();
  }
}

export default widget(RunConnection, View);
