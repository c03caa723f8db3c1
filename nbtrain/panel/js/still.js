// The picture below a widget: it stands for the widget in a notebook without its kernel.

import { el } from "./dom.js";

const VIEW = "application/vnd.jupyter.widget-view+json";
// JupyterLab's outputs of a cell: the live widget, and the two below it.
const LIVE = ".jp-OutputArea-child:has(.nbt-live):has(+ .jp-OutputArea-child + .jp-OutputArea-child .nbtrain-still)";
const BELOW = `${LIVE} + .jp-OutputArea-child, ${LIVE} + .jp-OutputArea-child + .jp-OutputArea-child`;

// From now on the root of a view stands in place of the picture and the words below it: they are
// hidden as long as it is in the document.
export function stand(root) {
  if (root.classList.contains("nbt-live")) return;
  root.classList.add("nbt-live");
  root.append(el("style", { text: `${BELOW} { display: none !important; }` }));
}

// Put a picture into the notebook, below the output of a widget. JupyterLab does so by itself, unless
// its page was reloaded since the cell has run: then it knows no display_id. The notebook's model is
// no part of anywidget's interface: where there is none, the picture of before stays.
export function keep(model, { data, id }) {
  for (const cell of model.widget_manager?.context?.model?.cells ?? []) {
    for (let i = 0; i + 1 < (cell.outputs?.length ?? 0); i++) {
      if (cell.outputs.get(i).data[VIEW]?.model_id !== id) continue;
      const below = cell.outputs.get(i + 1);
      if (below.data["image/png"] !== data["image/png"]) cell.outputs.set(i + 1, { ...below.toJSON(), data });
    }
  }
}
