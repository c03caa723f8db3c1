// The user's options of a board. The kernel stores them as a text, so that a reloaded page or another
// view begins with them. Uses no DOM.

/** @import { Axis, Index } from "../protocol.d.ts" */

/** @typedef {{min: number, max: number}} Range */

/**
 * The options of a board.
 * @typedef {object} Options
 * @property {string} tab
 * @property {Axis} x
 * @property {number} smooth
 * @property {boolean} logX
 * @property {string} tags the filter of the tags
 * @property {string} runs the filter of the runs
 * @property {string} colourBy the regular expression by which runs get their colours; "" for one each
 * @property {Set<string>} off runs that are not drawn
 * @property {Map<string, Range>} zooms the visible ranges, by tag
 * @property {Set<string>} logs tags whose values have a logarithmic scale
 * @property {Set<string>} outliers tags whose range includes outliers
 * @property {Map<string, Map<string, boolean>>} open which groups are open, by tab
 */

/**
 * The options as JSON has them.
 * @typedef {{[name in keyof Options]: Listed<Options[name]>}} Kept
 */

/**
 * @template T
 * @typedef {T extends Set<infer Item> ? Item[] : T extends Map<infer Key, infer Item> ? [Key, Listed<Item>][] : T} Listed
 */

/**
 * begin: the options of the cell, {tab, x, smooth}, and perhaps `kept`, a text of `written`.
 * @param {Index["begin"]} begin
 * @returns {Options}
 */
export function optionsOf({ kept, ...begin }) {
  /** @type {Kept} */
  const found = {
    logX: false,
    tags: "",
    runs: "",
    colourBy: "",
    off: [],
    zooms: [],
    logs: [],
    outliers: [],
    open: [],
    ...begin,
    ...JSON.parse(kept ?? "{}"),
  };
  return {
    ...found,
    off: new Set(found.off), // runs that are not drawn
    zooms: new Map(found.zooms), // tag -> {min, max}
    logs: new Set(found.logs), // tags whose values have a logarithmic scale
    outliers: new Set(found.outliers),
    open: new Map(found.open.map(([tab, groups]) => [tab, new Map(groups)])),
  };
}

/** @param {Options} options */
export function written(options) {
  return JSON.stringify(options, (name, value) =>
    value instanceof Map || value instanceof Set ? [...value] : value,
  );
}
