// The options that the reader of a board has chosen. The kernel keeps them as a text, so that a
// reloaded page or another view begins with them. Knows no page.

/** @import { Index } from "../protocol.d.ts" */
/** @import { Kept, Options } from "../types.d.ts" */

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
    off: [],
    zooms: [],
    logs: [],
    open: [],
    ...begin,
    ...JSON.parse(kept ?? "{}"),
  };
  return {
    ...found,
    off: new Set(found.off), // runs that are not drawn
    zooms: new Map(found.zooms), // tag -> {min, max}
    logs: new Set(found.logs), // tags whose values have a logarithmic scale
    open: new Map(found.open.map(([tab, groups]) => [tab, new Map(groups)])),
  };
}

/** @param {Options} options */
export function written(options) {
  return JSON.stringify(options, (name, value) =>
    value instanceof Map || value instanceof Set ? [...value] : value,
  );
}
