// The pages of a board, one line each, in the order of their tabs. A page is a class:
//
//   constructor(board)           board: {connection, runs, options, keep(), forget(), folds(tab), paint(),
//                                styleOf(run), swatch(run)}
//   root, tools                  its element, and its own controls (or nothing)
//   show(index, chosen, fits)    draw what there is of the runs chosen(run), of the tags
//                                fits(tag); called whenever one of the three may have changed
//                                while the page is in front; returns its count in words
//   point(run), retheme()        let a run stand out (null: none); the colours have changed, also
//                                of a page that is not in front
//   forget()                     the axis of the curves is another (where there are curves)
//   close()

import { AudioBody } from "../cards/audio_body.js";
import { cardsPage } from "./cards_page.js";
import { ComparePage } from "./compare_page.js";
import { CustomScalarsPage } from "./custom_scalars_page.js";
import { DistributionBody } from "../cards/distribution_body.js";
import { HistogramBody } from "../cards/histogram_body.js";
import { HparamsPage } from "./hparams_page.js";
import { ImageBody } from "../cards/image_body.js";
import { ScalarsPage } from "./scalars_page.js";
import { TextBody } from "../cards/text_body.js";

export const PAGES = {
  scalars: ["Scalars", ScalarsPage],
  images: ["Images", cardsPage("images", ImageBody)],
  histograms: ["Histograms", cardsPage("histograms", HistogramBody)],
  distributions: ["Distributions", cardsPage("distributions", DistributionBody, "histograms")],
  text: ["Text", cardsPage("text", TextBody)],
  audio: ["Audio", cardsPage("audio", AudioBody)],
  hparams: ["HParams", HparamsPage],
  custom_scalars: ["Custom Scalars", CustomScalarsPage],
  compare: ["Compare", ComparePage],
};
