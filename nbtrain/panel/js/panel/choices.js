// The user's choices for all panels, stored for the next page and the next run.

import { isNames, Kept } from "../shared/kept.js";

/** @import { ChartAxis } from "../shared/axis_tools.js" */

/**
 * height: of all charts in pixels; null: as fits a laptop's screen.
 * all: whether to show the charts that do not fit, below the others.
 * smooth: TensorBoard's smoothing, from 0 to below 1.
 * x: the horizontal axis; logX: whether it is logarithmic; logs: the tags with a logarithmic scale of values, the newest last.
 * outliers: the tags whose range includes outliers, the newest last.
 * pins: the tags whose charts come first, in this order.
 * log: whether the log is open; media: whether pictures and media are open.
 * @typedef {{height: number | null, all: boolean, smooth: number, x: ChartAxis, logX: boolean, logs: string[], outliers: string[], pins: string[], log: boolean, media: boolean}} Chosen
 */

/** @type {import("../shared/kept.js").Kind<Chosen>} */
const KIND = {
  key: "nbtrain.panel",
  begin: {
    height: null,
    all: false,
    smooth: 0,
    x: "step",
    logX: false,
    logs: [],
    outliers: [],
    pins: [],
    log: false,
    media: false,
  },
  valid: {
    height: (value) => value === null || (value >= 100 && value <= 10000),
    all: (value) => typeof value === "boolean",
    smooth: (value) => value >= 0 && value < 1,
    x: (value) => ["step", "epoch", "relative", "wall"].includes(value),
    logX: (value) => typeof value === "boolean",
    logs: isNames,
    outliers: isNames,
    pins: isNames,
    log: (value) => typeof value === "boolean",
    media: (value) => typeof value === "boolean",
  },
};

/** @extends {Kept<Chosen>} */
export class Choices extends Kept {
  /**
   * @param {() => void} changed
   * @param {any} [page]
   */
  constructor(changed, page) {
    super(KIND, changed, page);
  }
}
