// The pages of a board, one line each, in the order of their tabs.

import { AudioBody } from "../../shared/cards/audio_body.js";
import { cardsPage } from "./cards_page.js";
import { ComparePage } from "./compare_page.js";
import { CustomScalarsPage } from "./custom_scalars_page.js";
import { DistributionBody } from "../cards/distribution_body.js";
import { GraphsPage } from "./graphs_page.js";
import { HistogramBody } from "../../shared/cards/histogram_body.js";
import { HparamsPage } from "./hparams_page.js";
import { ImageBody } from "../../shared/cards/image_body.js";
import { PrCurvesPage } from "./pr_curves_page.js";
import { ScalarsPage } from "./scalars_page.js";
import { TextBody } from "../../shared/cards/text_body.js";

/** @import { Board } from "../board.js" */
/** @import { Contents } from "../board_connection.js" */
/** @import { NameTest } from "../tags.js" */

/**
 * A page of a board.
 * @typedef {object} Page
 * @property {HTMLElement} root
 * @property {HTMLElement} [tools] its own controls
 * @property {(index: Contents, chosen: NameTest, matches: NameTest) => string} show
 *   draws the runs that are `chosen` and the tags that match `matches`. Called whenever one of the three may
 *   have changed while the page is in front; returns its count in words
 * @property {(run: string | null) => void} highlight
 *   highlights the runs of a fit, by its leader; null highlights none
 * @property {() => void} retheme called when the colours have changed, also if the page is not in front
 * @property {() => void} [axisChanged] called when the axis of the curves has changed
 * @property {() => void} close
 */

/** @type {Record<string, [label: string, Kind: new (board: Board) => Page]>} */
export const PAGES = {
  scalars: ["Scalars", ScalarsPage],
  images: ["Images", cardsPage("images", ImageBody)],
  histograms: ["Histograms", cardsPage("histograms", HistogramBody)],
  distributions: ["Distributions", cardsPage("distributions", DistributionBody, "histograms")],
  text: ["Text", cardsPage("text", TextBody)],
  audio: ["Audio", cardsPage("audio", AudioBody)],
  pr_curves: ["PR Curves", PrCurvesPage],
  graphs: ["Graphs", GraphsPage],
  hparams: ["HParams", HparamsPage],
  custom_scalars: ["Custom Scalars", CustomScalarsPage],
  compare: ["Compare", ComparePage],
};
