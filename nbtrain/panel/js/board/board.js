// The board of a logdir: an anywidget. One connection for each model, one view for each output.

import uplotCss from "uplot/dist/uPlot.min.css";
import boardCss from "./board.css";
import { BoardChoices } from "./choices.js";
import { BoardConnection } from "./board_connection.js";
import { brief } from "./fits.js";
import cardsCss from "../shared/cards/cards.css";
import graphCss from "./graph/graph.css";
import { el, labelled, say } from "../shared/dom.js";
import { optionsOf, written } from "./options.js";
import { PAGES } from "./pages/pages.js";
import css from "../shared/common.css";
import { widget } from "../shared/connection.js";
import { RunList } from "./run_list.js";
import hparamsCss from "./hparams/hparams.css";
import { swatch } from "./swatch.js";
import tablesCss from "./table/tables.css";
import { Tabs } from "./tabs.js";
import { filter, numbersBy, runsWithoutScalars, style } from "./tags.js";
import { hidePicture } from "../shared/still.js";
import { getOrMake, lastOf } from "../shared/collections.js";
import * as theme from "../shared/theme.js";
import { wordsOf } from "./words.js";

/** @import { Index } from "../protocol.d.ts" */
/** @import { Paint } from "../shared/theme.js" */
/** @import { Contents } from "./board_connection.js" */
/** @import { Options } from "./options.js" */
/** @import { Page } from "./pages/pages.js" */
/** @import { Look } from "./tags.js" */

/**
 * A board, as its pages know it.
 * @typedef {object} Board
 * @property {BoardConnection} connection
 * @property {RunList} runs
 * @property {Options} options
 * @property {BoardChoices} choices
 * @property {() => void} saveOptions
 * @property {() => void} axisChanged
 * @property {() => void} draw
 * @property {(tab: string) => {open: Map<string, boolean>, changed: () => void}} folds
 * @property {() => Paint} paint
 * @property {(run: string) => Look} styleOf
 * @property {(run: string) => number | null} lookOf the number of its look; null without a group
 * @property {(...runs: string[]) => SVGElement} swatch
 * @property {(run: string) => string} leaderOf the run that leads the fit of a run
 * @property {(run: string) => string} nameOf the name of a run as it is shown
 */

// The tabs that show scalars. They collapse the runs without scalars.
const CURVES = ["scalars", "custom_scalars", "hparams", "compare"];
/** @type {Index["begin"]} */
const DEFAULTS = { tab: "", x: "step", smooth: 0 }; // until the index arrives

const STYLE = uplotCss + css + boardCss + cardsCss + graphCss + tablesCss + hparamsCss;

class View {
  fill = el("div", { class: "nbt-fill" });
  bar = el("div", {
    class: "nbt-bar",
    role: "progressbar",
    "aria-label": "reading",
    "aria-valuemin": 0,
    "aria-valuemax": 100,
    hidden: "",
    children: [this.fill],
  });
  tagInput = el("input", {
    type: "search",
    placeholder: "filter tags (regex)",
    "aria-label": "filter tags, a regular expression",
    "data-role": "filter-tags",
    spellcheck: "false",
  });
  tagCount = el("span", { class: "nbt-soft", "data-role": "tag-count" });
  own = el("div", { class: "nbt-own" }); // the controls of the page
  follow = el("input", { type: "checkbox", "data-role": "follow" });
  problem = el("div", { class: "nbt-problem", role: "status", hidden: "" });
  words = el("div", { class: "nbt-notice", role: "status", "data-role": "words", hidden: "" });
  /** @type {Map<string, Page>} */
  pages = new Map();
  /** @type {Page | null} */
  page = null; // the page in front
  /** @type {(Paint & {looks: string}) | null} */
  paints = null; // of the theme; and the looks of all runs
  tab = ""; // the name of that page
  frame = 0; // the requested animation frame; 0 if none
  begun = false; // whether the board's options have been applied
  choices = new BoardChoices(() => this.changed());
  /** @type {{index: Contents | null, colourBy: string, numbers: Map<string, number>}} */
  grouped = { index: null, colourBy: "", numbers: new Map() };
  visible = true;
  stale = false;
  front = el("div", { class: "nbt-front" });

  /**
   * @param {BoardConnection} connection
   * @param {HTMLElement} host
   */
  constructor(connection, host) {
    this.connection = connection;
    this.options = optionsOf(DEFAULTS);
    this.#listen();
    this.runs = new RunList({
      changed: (filter) => {
        this.options.runs = filter;
        this.saveOptions();
        this.draw();
      },
      coloured: (by) => {
        this.options.colourBy = by;
        this.saveOptions();
        this.retheme();
      },
      highlight: (run) => this.page?.highlight(run),
      swatch: this.swatch,
    });
    this.tabs = new Tabs((name) => {
      if (connection.index) this.#open(name, connection.index);
    });
    const body = el("div", { class: "nbt-board-body", children: [this.runs.root, this.front] });
    this.root = el("div", {
      class: "nbt nbt-board",
      children: [
        el("style", { text: STYLE }),
        this.bar,
        this.tabs.root,
        this.#tools(),
        this.problem,
        this.words,
        body,
      ],
    });
    host.append(this.root);
    this.observer = new IntersectionObserver(
      (entries) => {
        this.visible = lastOf(entries).isIntersecting;
        if (this.stale) this.changed();
      },
      { rootMargin: "120px" },
    );
    this.observer.observe(this.root);
    // JupyterLab hides the notebook while it changes its theme, so this waits for the next frame.
    this.unwatch = theme.watch(() => requestAnimationFrame(() => this.retheme()));
    this.changed();
  }

  // --- what pages call

  // The colours of the current theme.
  paint = () => this.paints ?? theme.paints(this.root);

  /** @type {Board["styleOf"]} */
  styleOf = (run) => {
    const { colours = ["gray"], gone = "gray" } = this.paints ?? {};
    const number = this.lookOf(run);
    const look = style(number ?? 0, colours, this.connection.leaderOf(run) !== run);
    return number === null ? { ...look, colour: gone } : look;
  };

  /** @type {Board["lookOf"]} */
  lookOf = (run) =>
    this.options.colourBy
      ? (this.#groups.get(this.connection.leaderOf(run)) ?? null)
      : this.connection.lookOf(run);

  // A text that differs if a run has another look.
  get #looks() {
    const { runs = [] } = this.connection.index ?? {};
    return JSON.stringify(runs.map((run) => [run, this.lookOf(run)]));
  }

  // The numbers of the fits' groups, by their leaders; without those of no group.
  get #groups() {
    const { index, fits } = this.connection;
    const { colourBy } = this.options;
    if (this.grouped.index !== index || this.grouped.colourBy !== colourBy)
      this.grouped = { index, colourBy, numbers: numbersBy(colourBy, fits.values()) };
    return this.grouped.numbers;
  }

  /** @type {Board["swatch"]} */
  swatch = (...runs) => swatch(...runs.map(this.styleOf));

  /** @type {Board["leaderOf"]} */
  leaderOf = (run) => this.connection.leaderOf(run);

  /** @type {Board["nameOf"]} */
  nameOf = (run) => brief(this.connection.nameOf(run));

  // Call this after a change of the options.
  saveOptions = () => {
    if (this.begun) this.connection.keep(written(this.options));
  };

  // Call this after the axis of the curves has changed.
  axisChanged() {
    this.options.zooms.clear();
    this.pages.forEach((page) => page.axisChanged?.());
  }

  /**
   * Remembers which groups of a page are open, for its TagGroups.
   * @param {string} tab
   */
  folds(tab) {
    const { open } = this.options;
    return { open: getOrMake(open, tab, () => new Map()), changed: this.saveOptions };
  }

  // --- drawing

  // Reads the colours, which is possible only once the view is in the document.
  retheme() {
    if (!this.root.isConnected) return;
    this.root.dataset.theme = theme.isDark(this.root) ? "dark" : "light";
    this.paints = { ...theme.paints(this.root), looks: this.#looks };
    this.runs.repaint();
    this.pages.forEach((page) => page.retheme());
  }

  // Draws once in the next frame, however many changes arrive before it.
  changed() {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      this.draw();
    });
  }

  draw() {
    const { index } = this.connection;
    this.stale = !this.root.isConnected; // a view may be created long before it is in the document
    if (this.stale) return;
    if (!this.paints) this.retheme();
    this.#showState();
    if (!index) return;
    hidePicture(this.root);
    if (!this.begun) this.#begin(index.begin);
    if (this.paints?.looks !== this.#looks) this.retheme();
    const { fits, folder } = this.connection;
    this.runs.show(fits.values(), {
      folder,
      labels: index.labels,
      bare: runsWithoutScalars(index),
    });
    this.follow.checked = index.follow;
    this.#open(this.options.tab, index);
  }

  close() {
    cancelAnimationFrame(this.frame);
    this.observer.disconnect();
    this.unwatch();
    this.tabs.close();
    this.choices.close();
    this.pages.forEach((page) => page.close());
    this.root.remove();
  }

  /**
   * Applies the options of an earlier page, and those typed before the index arrived.
   * @param {Index["begin"]} begin
   */
  #begin(begin) {
    const { tags, runs, colourBy } = this.options;
    const options = optionsOf({ ...begin, kept: this.connection.kept ?? begin.kept });
    this.connection.kept ??= written(options);
    this.options = {
      ...options,
      tags: tags || options.tags,
      runs: runs || options.runs,
      colourBy: colourBy || options.colourBy,
    };
    this.begun = true;
    this.tagInput.value = this.options.tags;
    this.runs.begin(this.options);
  }

  /**
   * Brings a page to the front and draws it.
   * @param {string} name
   * @param {Contents} index
   */
  #open(name, index) {
    const there = Object.keys(PAGES).filter((tab) => tab === name || index.tabs.includes(tab));
    this.tabs.show(Object.fromEntries(there.map((tab) => [tab, PAGES[tab][0]])), name);
    const page = this.#turnTo(name);
    const { matches, error } = filter(this.tagInput.value);
    this.tagInput.setAttribute("aria-invalid", String(error !== null));
    say(this.problem, error);
    this.tagCount.textContent = page.show(index, (run) => this.runs.has(run), matches);
    this.#showState();
  }

  /** @param {string} name */
  #turnTo(name) {
    if (this.page && this.tab === name) return this.page;
    const page = getOrMake(this.pages, name, () => {
      const made = new PAGES[name][1](this);
      this.tabs.panel(name, made.root);
      return made;
    });
    this.page = page;
    this.tab = this.options.tab = this.root.dataset.tab = name;
    this.runs.bare.open = !CURVES.includes(name);
    this.saveOptions();
    this.front.replaceChildren(page.root);
    this.own.replaceChildren(...(page.tools ? [page.tools] : []));
    return page;
  }

  #showState() {
    const { index } = this.connection;
    const reading = index?.reading ?? false;
    this.bar.hidden = !reading;
    if (reading) {
      const percent = Math.round(100 * (index?.progress ?? 0));
      this.fill.style.width = `${percent}%`;
      this.bar.setAttribute("aria-valuenow", String(percent));
    }
    const empty = index?.empty[this.tab || index.begin.tab];
    say(this.words, wordsOf(this.connection, reading ? "" : empty).join("\n"));
    this.root.classList.toggle("nbt-nothing", Boolean(empty));
    if (index?.version !== undefined) this.root.dataset.version = String(index.version);
    this.root.dataset.reading = String(reading);
  }

  #listen() {
    this.tagInput.addEventListener("input", () => {
      this.options.tags = this.tagInput.value;
      this.saveOptions();
      this.draw();
    });
    this.follow.addEventListener("change", () =>
      this.connection.send({ t: "follow", on: this.follow.checked }),
    );
  }

  #tools() {
    const follow = labelled("follow", this.follow, { title: "Update as event files grow" });
    const children = [this.tagInput, this.tagCount, this.own, follow];
    return el("div", { class: "nbt-tools", children });
  }
}

export default widget(BoardConnection, View);
