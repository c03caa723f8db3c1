// The board of a logdir: an anywidget. One room for each model, one view for each output.

import uplotCss from "uplot/dist/uPlot.min.css";
import boardCss from "./board.css";
import { boardRoomOf } from "./board_room.js";
import { el, say } from "./dom.js";
import { download } from "./download.js";
import { decode } from "./overlay.js";
import { OverlayChart } from "./overlay_chart.js";
import css from "./panel.css";
import { RunList } from "./run_list.js";
import { filter, groups, style } from "./tags.js";
import * as theme from "./theme.js";

const AXES = { step: "step", relative: "relative time", wall: "wall time" };
const OPEN_TAGS = 400; // up to so many tags every group begins open
const AT_ONCE = 60; // charts of a group that are put into the page before more are asked for
const PASSING_MS = 80; // a chart that is in sight for less was scrolled past
const SMOOTHEST = 0.999;

class View {
  constructor(room, host) {
    Object.assign(this, { room, charts: new Map(), open: new Map(), more: new Map(), options: null, inSight: true, seen: new Set() });
    this.#controls();
    this.runs = new RunList({
      changed: () => this.rearrange(),
      point: (run) => this.seen.forEach((chart) => chart.emphasize(run)),
      styleOf: (run) => this.styleOf(run),
    });
    this.groups = el("div", { class: "nbt-groups", "data-role": "groups" });
    const body = el("div", { class: "nbt-board-body", children: [this.runs.root, this.groups] });
    const text = uplotCss + css + boardCss;
    this.root = el("div", { class: "nbt nbt-board", children: [el("style", { text }), this.bar, this.tools, this.problem, this.words, body] });
    host.append(this.root);
    this.size = new ResizeObserver(() => this.seen.forEach((chart) => chart.resize()));
    this.size.observe(this.groups);
    this.sight = new IntersectionObserver((entries) => entries.forEach((entry) => this.#sighted(entry)), { rootMargin: "120px" });
    this.sight.observe(this.root);
    // JupyterLab hides the notebook while it changes its theme.
    this.unwatch = theme.watch(() => requestAnimationFrame(() => this.retheme()));
    this.changed();
  }

  // --- what a chart asks of its board

  paint = () => this.paints;

  styleOf = (run) => style(this.room.numberOf(run), this.paints?.colours ?? ["gray"]);

  swatch = (run) => this.runs.swatch(run);

  // Ask for what a chart in sight should show, if it does not show it yet; one question at a time.
  async wanted(chart) {
    const { index, gone } = this.room;
    if (gone || !index?.tags || !this.options || !this.seen.has(chart) || chart.asking) return;
    const want = this.#want(chart);
    const key = JSON.stringify(want);
    if (chart.shown === key && chart.version === index.version) return;
    chart.asking = true;
    const { version } = index;
    const { content, buffers } = await this.room.ask({ t: "want", ...want, known: chart.shown === key ? chart.known : null });
    chart.asking = false;
    if (content.t === "lost") return;
    chart.say(content.t === "refused" ? content.text : "");
    Object.assign(chart, { shown: key, version });
    if (content.t === "curves") {
      chart.known = content.known;
      if (JSON.stringify(this.#want(chart)) === key) chart.curves = decode(content.runs, buffers[0]);
      if (this.seen.has(chart)) chart.draw();
    }
    this.wanted(chart); // something else may be wanted by now
  }

  async csv(chart) {
    const { content, buffers } = await this.room.ask({ t: "csv", ...this.#want(chart) });
    if (content.t === "file") download(new Blob([buffers[0]], { type: "text/csv" }), `${chart.tag}.csv`);
    chart.say(content.t === "refused" ? content.text : "");
  }

  #want({ tag, zoom }) {
    const { x, smooth } = this.options;
    const having = this.having.get(tag) ?? [];
    const chosen = having.filter((run) => this.runs.has(run));
    return { tag, x, smooth, range: zoom ? [zoom.min, zoom.max] : null, runs: chosen.length === having.length ? null : chosen };
  }

  // --- what is shown

  // Colours can be read only in the document: a view is often made before it is put there.
  retheme() {
    if (!this.root.isConnected) return;
    this.root.dataset.theme = theme.isDark(this.root) ? "dark" : "light";
    this.paints = theme.paints(this.root);
    this.runs.repaint();
    this.seen.forEach((chart) => chart.resize());
  }

  // Something is new; drawn once in the next frame, however much arrives until then.
  changed() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = undefined;
      this.draw();
    });
  }

  draw() {
    const { index, gone, late, note } = this.room;
    if (!this.root.isConnected) return;
    if (!this.paints) this.retheme();
    const begin = (this.options ??= index?.begin && { ...index.begin });
    if (begin) this.#showOptions();
    this.#tell(index, { gone, late, note });
    if (!index?.tags) return;
    if (this.drawn !== index.tags) {
      this.drawn = index.tags;
      const sets = index.sets.map((set) => set.map((run) => index.runs[run]));
      this.having = new Map(index.tags.map((tag, i) => [tag, sets[index.of[i]]]));
      this.runs.show(index.runs);
      this.rearrange();
    }
    this.follow.checked = index.follow;
    this.seen.forEach((chart) => this.wanted(chart));
  }

  // Other tags or runs are to be seen.
  rearrange() {
    if (!this.having) return;
    const { fits, error } = filter(this.tagInput.value);
    this.tagInput.setAttribute("aria-invalid", String(error !== null));
    say(this.problem, error);
    const tags = [...this.having].filter(([tag, runs]) => fits(tag) && runs.some((run) => this.runs.has(run))).map(([tag]) => tag);
    this.tagCount.textContent = `${tags.length} of ${this.having.size} tags`;
    const found = groups(tags);
    const all = tags.length <= OPEN_TAGS;
    this.groups.replaceChildren(...found.map((group, i) => this.#group(group, found.length === 1 || (this.open.get(group.name) ?? (all || i === 0)))));
    if (found.length === 1 && !found[0].name) this.groups.firstChild.classList.add("nbt-sole");
    this.seen.forEach((chart) => chart.root.isConnected || this.#hide(chart));
    this.seen.forEach((chart) => this.wanted(chart));
  }

  close() {
    cancelAnimationFrame(this.frame);
    this.size.disconnect();
    this.sight.disconnect();
    this.unwatch();
    this.charts.forEach((chart) => chart.destroy());
    this.root.remove();
  }

  #group({ name, tags }, open) {
    const grid = el("div", { class: "nbt-grid" });
    const title = [el("span", { text: name || "no prefix" }), el("small", { text: String(tags.length) })];
    const group = el("details", { class: "nbt-group", "data-group": name, children: [el("summary", { children: title }), grid] });
    const fill = () => {
      const most = this.more.get(name) ?? AT_ONCE;
      grid.replaceChildren(...tags.slice(0, most).map((tag) => this.#chart(tag).root));
      if (tags.length <= most) return;
      const more = el("button", { type: "button", text: `${tags.length - most} more` });
      more.addEventListener("click", () => {
        this.more.set(name, most + AT_ONCE);
        fill();
      });
      grid.append(more);
    };
    group.open = open;
    if (open) fill();
    group.addEventListener("toggle", () => {
      if (group.open === (this.open.get(name) ?? open)) return;
      this.open.set(name, group.open);
      if (group.open) fill();
    });
    return group;
  }

  #chart(tag) {
    if (!this.charts.has(tag)) {
      const chart = new OverlayChart(tag, this);
      this.charts.set(tag, chart);
      chart.root.chart = chart;
      this.sight.observe(chart.root);
    }
    return this.charts.get(tag);
  }

  #sighted({ target, isIntersecting }) {
    if (target === this.root) this.inSight = isIntersecting;
    else if (isIntersecting) {
      this.seen.add(target.chart);
      setTimeout(() => this.#shown(target.chart), PASSING_MS);
    } else this.#hide(target.chart);
  }

  #shown(chart) {
    if (!this.seen.has(chart)) return;
    chart.resize();
    this.wanted(chart);
  }

  // What is out of sight needs no canvas.
  #hide(chart) {
    this.seen.delete(chart);
    chart.destroy();
  }

  #tell(index, { gone, late, note }) {
    const reading = index?.reading ?? false;
    this.bar.hidden = !reading;
    if (reading) {
      const percent = Math.round(100 * (index.progress ?? 0));
      this.fill.style.width = `${percent}%`;
      this.bar.setAttribute("aria-valuenow", percent);
    }
    const lines = [];
    if (gone) lines.push("The kernel has gone: what was drawn stays. Run the cell again for the rest.");
    else if (late) lines.push("Waiting for the kernel: it is busy.");
    if (note) lines.push(note);
    if (index?.empty && !reading) lines.push(sentence(index.empty));
    for (const [run, size] of index?.damaged ?? []) lines.push(`${size.toLocaleString("en")} bytes of ${run} are damaged, and were skipped.`);
    for (const [path, why] of index?.unreadable ?? []) lines.push(`${path} cannot be read: ${why}.`);
    say(this.words, lines.slice(0, 6).join("\n"));
    this.root.classList.toggle("nbt-nothing", Boolean(index?.empty));
    if (index?.version !== undefined) this.root.dataset.version = index.version;
    this.root.dataset.reading = reading;
  }

  #controls() {
    this.fill = el("div", { class: "nbt-fill" });
    this.bar = el("div", { class: "nbt-bar", role: "progressbar", "aria-label": "reading", "aria-valuemin": 0, "aria-valuemax": 100, hidden: "", children: [this.fill] });
    this.tagInput = el("input", { type: "search", placeholder: "filter tags (regex)", "aria-label": "filter tags, a regular expression", "data-role": "filter-tags", spellcheck: "false" });
    this.tagInput.addEventListener("input", () => this.rearrange());
    this.tagCount = el("span", { class: "nbt-soft", "data-role": "tag-count" });
    this.axis = el("select", { "aria-label": "horizontal axis", "data-role": "axis", children: Object.entries(AXES).map(([value, text]) => el("option", { value, text })) });
    this.axis.addEventListener("change", () => this.#choose({ x: this.axis.value }));
    this.slider = el("input", { type: "range", min: 0, max: SMOOTHEST, step: 0.001, "aria-label": "smoothing", "data-role": "smoothing" });
    this.slider.addEventListener("input", () => this.#choose({ smooth: Number(this.slider.value) }));
    this.smoothing = el("output", { class: "nbt-smooth" });
    this.follow = el("input", { type: "checkbox", "data-role": "follow" });
    this.follow.addEventListener("change", () => this.room.send({ t: "follow", on: this.follow.checked }));
    const labelled = (text, ...children) => el("label", { class: "nbt-field", children: [el("span", { text }), ...children] });
    const follow = el("label", { class: "nbt-field", title: "Show what is being written", children: [this.follow, el("span", { text: "follow" })] });
    this.tools = el("div", { class: "nbt-tools", children: [this.tagInput, this.tagCount, labelled("x", this.axis), labelled("smooth", this.slider, this.smoothing), follow] });
    this.problem = el("div", { class: "nbt-problem", role: "status", hidden: "" });
    this.words = el("div", { class: "nbt-notice", role: "status", "data-role": "words", hidden: "" });
  }

  #choose(changes) {
    if (!this.options) return;
    Object.assign(this.options, changes);
    this.#showOptions();
    if (changes.x) this.charts.forEach((chart) => Object.assign(chart, { zoom: null, curves: [] }));
    this.seen.forEach((chart) => this.wanted(chart));
  }

  #showOptions() {
    const { x, smooth } = this.options;
    this.axis.value = x;
    this.slider.value = smooth;
    this.smoothing.textContent = smooth.toFixed(smooth > 0.99 ? 3 : 2);
  }
}

function sentence(text) {
  return `${text[0].toUpperCase()}${text.slice(1)}.`;
}

export default {
  initialize({ model }) {
    const room = boardRoomOf(model);
    return () => room.close();
  },
  render({ model, el: host }) {
    const room = boardRoomOf(model);
    const view = new View(room, host);
    room.enter(view);
    return () => {
      room.leave(view);
      view.close();
    };
  },
};
