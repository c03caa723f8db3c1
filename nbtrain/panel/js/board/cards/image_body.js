// The images of a step, side by side. A body is what a card shows:
//
//   root, show(content, buffers, at), clear()   its element, filled (also when it is full) and
//                                               emptied
//   choose(), resize()                          other option; other room or colours (or nothing)

import { el } from "../../shared/dom.js";

const ALONE = 160; // pixels: what is smaller is enlarged, so that its pixels can be seen

export class ImageBody {
  static option = {
    text: "actual size",
    title: "Show each pixel of an image as one of the page's",
  };

  constructor(card) {
    this.card = card;
    this.urls = [];
    this.turn = 0;
    this.root = el("div", { class: "nbt-samples" });
  }

  // What is shown stays until what follows can be seen.
  async show({ width, height, samples, more }, buffers) {
    const left = [...buffers];
    const found = samples.map((sample) =>
      sample.problem ? sample : { ...sample, image: this.#image(left.shift(), sample.type) },
    );
    const turn = ++this.turn;
    await Promise.all(found.map(({ image }) => image?.decode().catch(() => {})));
    const urls = found.flatMap(({ image }) => (image ? [image.src] : []));
    if (turn !== this.turn) return urls.forEach((url) => URL.revokeObjectURL(url));
    this.clear();
    this.urls = urls;
    const size = el("div", { class: "nbt-soft nbt-size", text: sizeInWords(width, height, more) });
    this.root.replaceChildren(
      ...found.map((sample, i) => this.#figure(sample, this.#name(i, samples.length))),
      size,
    );
  }

  clear() {
    this.turn++;
    this.urls.forEach((url) => URL.revokeObjectURL(url));
    this.urls = [];
    this.root.replaceChildren();
  }

  #image(bytes, type) {
    return el("img", { src: URL.createObjectURL(new Blob([bytes], { type })) });
  }

  #name(i, count) {
    const { tag, run, steps, at } = this.card;
    return `${tag} of ${run} at step ${steps[at]}${count > 1 ? `, sample ${i + 1} of ${count}` : ""}`;
  }

  #figure({ image, scaled, problem }, name) {
    if (problem)
      return el("figure", {
        class: "nbt-sample",
        children: [el("div", { class: "nbt-problem", text: problem })],
      });
    const { naturalWidth: width, naturalHeight: height } = image;
    image.alt = name;
    image.classList.toggle("nbt-small", width < ALONE && height < ALONE);
    const note = !width
      ? "The browser cannot show this image."
      : scaled
        ? `scaled down to ${width} × ${height}`
        : "";
    return el("figure", {
      class: "nbt-sample",
      children: [image, el("figcaption", { class: "nbt-soft", text: note })],
    });
  }
}

function sizeInWords(width, height, more) {
  return `${width} × ${height} pixels${more ? `, and ${more} more images` : ""}`;
}
