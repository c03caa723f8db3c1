// The picture below a widget, which replaces the widget in a notebook without its kernel.

import { el } from "./dom.js";

/** @import { Still } from "../protocol.d.ts" */
/** @import { Model } from "./connection.js" */

/**
 * The data of a notebook's output, by MIME type.
 * @typedef {Record<string, any>} MimeBundle
 */

/**
 * The outputs of a cell in JupyterLab.
 * @typedef {object} Outputs
 * @property {number} length
 * @property {(i: number) => {data: MimeBundle, toJSON(): object}} get
 * @property {(i: number, output: object) => void} set
 */

const VIEW = "application/vnd.jupyter.widget-view+json";
// JupyterLab's outputs of a cell: the live widget, its picture and its words. Prints of other threads
// may be between them, and another widget with its own two may follow.
const OUTPUT = ".jp-OutputArea-child";
const PICTURE = `${OUTPUT}:has(> .jp-RenderedImage)`;
const WORDS = `${OUTPUT}:has(.nbtrain-still)`;

/**
 * Hides the picture and the words below a view as long as its root is in the document.
 * @param {HTMLElement} root
 */
export function hidePicture(root) {
  if (root.classList.contains("nbt-live")) return;
  const name = `nbt-live-${Math.random().toString(36).slice(2)}`;
  root.classList.add("nbt-live", name);
  const live = `${OUTPUT}:has(.${name}):has(~ ${OUTPUT} .nbtrain-still)`;
  const first = [PICTURE, WORDS].map(
    (output) => `${live} ~ ${output}:not(${live} ~ ${output} ~ *)`,
  );
  root.append(el("style", { text: `${first.join(", ")} { display: none !important; }` }));
}

/**
 * Saves a picture and words into the notebook, below the output of a widget. JupyterLab does this itself
 * unless its page was reloaded after the cell ran, because it then has no display_id. The notebook's
 * model is not part of anywidget's interface; without it, the earlier picture stays.
 * @param {Pick<Model, "widget_manager">} model
 * @param {Still} still
 */
export function saveStill(model, { picture, words, id }) {
  for (const { outputs } of model.widget_manager?.context?.model?.cells ?? []) {
    if (!outputs) continue;
    const all = Array.from({ length: outputs.length }, (_, i) => outputs.get(i));
    all.forEach(({ data }, at) => {
      if (data[VIEW]?.model_id !== id) return;
      /** @type {(bundle: MimeBundle, mime: string, isOurs: (data: MimeBundle) => boolean) => void} */
      const put = (bundle, mime, isOurs) => {
        const i = all.findIndex(({ data }, i) => i > at && isOurs(data));
        if (i > 0 && all[i].data[mime] !== bundle[mime])
          outputs.set(i, { ...all[i].toJSON(), data: bundle });
      };
      put(picture, "image/png", (data) => data["image/png"] && data["text/plain"] === "");
      put(words, "text/html", (data) => data["text/html"]?.includes('class="nbtrain-still"'));
    });
  }
}
