// The picture below a widget: it stands for the widget in a notebook without its kernel.

import { el } from "./dom.js";

// From now on the root of a view stands in place of the pictures of its model: they are hidden
// as long as it is in the document.
export function stand(root, model) {
  if (root.classList.contains("nbt-live")) return;
  root.classList.add("nbt-live");
  const still = `.${model.get("still")}`;
  root.append(el("style", { text: `${still}, .jp-OutputArea-child:has(${still}) { display: none !important; }` }));
}

// Put a picture into the notebook. JupyterLab does so by itself, unless its page was reloaded since
// the cell has run: then it knows no display_id. The notebook's model is no part of anywidget's
// interface: where there is none, the picture of before stays.
export function keep(model, data) {
  const still = model.get("still");
  const stands = (output) => String(output.data["text/html"] ?? "").includes(still);
  for (const cell of model.widget_manager?.context?.model?.cells ?? []) {
    for (let i = 0; i < (cell.outputs?.length ?? 0); i++) {
      const output = cell.outputs.get(i);
      if (!stands(output) || output.data["text/html"] === data["text/html"]) continue;
      cell.outputs.set(i, { ...output.toJSON(), data });
    }
  }
}
