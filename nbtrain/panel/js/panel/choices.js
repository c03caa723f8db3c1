// What the reader has chosen about the charts. The browser keeps it for the next page and the next run.
// All panels of a page show the same. Knows no page but its window.

/** @import { ChartAxis } from "../types.d.ts" */

/**
 * height: the pixels that the charts may take; null: as many as fit a laptop's screen.
 * all: whether charts that do not fit are shown below the others.
 * smooth: TensorBoard's smoothing, from 0 to below 1.
 * x: the horizontal axis; logX: whether it is logarithmic; logs: the tags whose values are, the newest last.
 * pins: the tags whose charts come first, in this order.
 * log: whether the log is open.
 * @typedef {{height: number | null, all: boolean, smooth: number, x: ChartAxis, logX: boolean, logs: string[], pins: string[], log: boolean}} Chosen
 */

const KEY = "nbtrain.panel";
const MOST = 200; // tags of a list: those of all runs that were ever looked at
const TOLD = "nbtrain-choices"; // the event for the other panels of the page

/** @type {Chosen} */
const BEGIN = {
  height: null,
  all: false,
  smooth: 0,
  x: "step",
  logX: false,
  logs: [],
  pins: [],
  log: false,
};
/** @type {{[name in keyof Chosen]: (value: any) => boolean}} */
const VALID = {
  height: (value) => value === null || (value >= 100 && value <= 10000),
  all: (value) => typeof value === "boolean",
  smooth: (value) => value >= 0 && value < 1,
  x: (value) => ["step", "epoch", "relative", "wall"].includes(value),
  logX: (value) => typeof value === "boolean",
  logs: isNames,
  pins: isNames,
  log: (value) => typeof value === "boolean",
};

export class Choices {
  /**
   * changed: called when a choice has changed, also by another panel. page: the window.
   * @param {() => void} changed
   * @param {any} [page]
   */
  constructor(changed, page = globalThis) {
    this.changed = changed;
    this.page = page;
    this.values = read(page);
    this.heed = () => {
      this.values = read(page);
      changed();
    };
    for (const kind of [TOLD, "storage"]) page.addEventListener(kind, this.heed);
  }

  /** @param {Partial<Chosen>} changes */
  choose(changes) {
    Object.assign(this.values, changes);
    try {
      this.page.localStorage.setItem(KEY, JSON.stringify(this.values));
      this.page.dispatchEvent(new this.page.Event(TOLD));
    } catch {
      this.changed(); // a page that may keep nothing
    }
  }

  /**
   * Adds a tag to a list of tags, or takes it away.
   * @param {"logs" | "pins"} list
   * @param {string} tag
   */
  toggle(list, tag) {
    const tags = this.values[list];
    const has = tags.includes(tag);
    const changed = has ? tags.filter((each) => each !== tag) : [...tags, tag].slice(-MOST);
    this.choose({ [list]: changed });
  }

  close() {
    for (const kind of [TOLD, "storage"]) this.page.removeEventListener(kind, this.heed);
  }
}

/** @param {any} value */
function isNames(value) {
  return Array.isArray(value) && value.every((each) => typeof each === "string");
}

/**
 * What is kept; where that is missing or of another version of nbtrain, what a panel begins with.
 * @param {any} page
 * @returns {Chosen}
 */
function read(page) {
  try {
    const kept = JSON.parse(page.localStorage.getItem(KEY)) ?? {};
    const names = /** @type {(keyof Chosen)[]} */ (Object.keys(BEGIN));
    const valid = names.filter((name) => name in kept && VALID[name](kept[name]));
    return { ...BEGIN, ...Object.fromEntries(valid.map((name) => [name, kept[name]])) };
  } catch {
    return { ...BEGIN };
  }
}
