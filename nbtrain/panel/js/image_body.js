// The images of a step, side by side. A body is what a card shows:
//
//   root, draw(content, buffers, at), clear()   its element, filled and emptied
//   choose(), resize()                          other option; other room or colours (or nothing)

import { el } from "./dom.js";

const ALONE = 160; // pixels: what is smaller is enlarged, so that its pixels can be seen

export class ImageBody {
  static option = { text: "actual size", title: "Show each pixel of an image as one of the page's" };

  constructor(card) {
    Object.assign(this, { card, urls: [] });
    this.root = el("div", { class: "nbt-samples" });
  }

  draw({ width, height, samples, more }, buffers) {
    const left = [...buffers];
    const figures = samples.map((sample, i) => this.#figure(sample, { left, name: this.#name(i, samples.length) }));
    const size = el("div", { class: "nbt-soft nbt-size", text: sizeInWords(width, height, more) });
    this.root.replaceChildren(...figures, size);
  }

  clear() {
    this.urls.forEach((url) => URL.revokeObjectURL(url));
    this.urls = [];
    this.root.replaceChildren();
  }

  #name(i, count) {
    const { tag, run, steps, at } = this.card;
    return `${tag} of ${run} at step ${steps[at]}${count > 1 ? `, sample ${i + 1} of ${count}` : ""}`;
  }

  #figure({ type, scaled, problem }, { left, name }) {
    if (problem) return el("figure", { class: "nbt-sample", children: [el("div", { class: "nbt-problem", text: problem })] });
    const url = URL.createObjectURL(new Blob([left.shift()], { type }));
    this.urls.push(url);
    const image = el("img", { src: url, alt: name });
    const note = el("figcaption", { class: "nbt-soft" });
    image.addEventListener("load", () => {
      image.classList.toggle("nbt-small", image.naturalWidth < ALONE && image.naturalHeight < ALONE);
      if (scaled) note.textContent = `scaled down to ${image.naturalWidth} × ${image.naturalHeight}`;
    });
    image.addEventListener("error", () => (note.textContent = "The browser cannot show this image."));
    return el("figure", { class: "nbt-sample", children: [image, note] });
  }
}

function sizeInWords(width, height, more) {
  return `${width} × ${height} pixels${more ? `, and ${more} more images` : ""}`;
}
