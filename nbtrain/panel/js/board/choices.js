// The user's choices for all boards, stored for the next page and the next board. For those of a single
// board, see options.js.

import { isNames, Kept } from "../shared/kept.js";

/** @typedef {"table" | "parallel" | "scatter"} HparamsView A view of the hyperparameters. */

/**
 * pins: the tags whose cards come first, in this order; hparams: the view of the hyperparameters.
 * @typedef {{pins: string[], hparams: HparamsView}} Chosen
 */

/** @type {import("../shared/kept.js").Kind<Chosen>} */
const KIND = {
  key: "nbtrain.board",
  begin: { pins: [], hparams: "table" },
  valid: {
    pins: isNames,
    hparams: (value) => ["table", "parallel", "scatter"].includes(value),
  },
};

/** @extends {Kept<Chosen>} */
export class BoardChoices extends Kept {
  /**
   * @param {() => void} changed
   * @param {any} [page]
   */
  constructor(changed, page) {
    super(KIND, changed, page);
  }
}
