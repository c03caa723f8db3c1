// The images of a step, side by side.

import { el } from "../dom.js";

/** @import { Images } from "../../protocol.d.ts" */
/** @import { Bytes } from "../connection.js" */
/** @import { Body, BodyCard } from "./body.d.ts" */

const ALONE = 160; // pixels: a smaller image is enlarged, so that its pixels are visible

export class ImageBody {
  static option = {
    text: "actual size",
    title: "Show each pixel of an image as one pixel of the page",
  };

  /** @param {BodyCard} card */
  constructor(card) {
    this.card = card;
    /** @type {string[]} */
    this.urls = [];
    this.turn = 0;
    this.root = el("div", { class: "nbt-samples" });
  }

  /**
   * The old images stay until the new ones are decoded.
   * @type {Body<Images>["show"]}
   */
  async show({ width, height, samples, more }, buffers) {
    const left = [...buffers];
    const found = samples.map((sample) =>
      "problem" in sample
        ? sample
        : { ...sample, image: this.#image(left.splice(0, 1), sample.type) },
    );
    const images = found.flatMap((sample) => ("image" in sample ? [sample.image] : []));
    const urls = images.map(({ src }) => src);
    const turn = ++this.turn;
    await Promise.all(images.map((image) => image.decode().catch(() => {})));
    if (turn !== this.turn) return urls.forEach((url) => URL.revokeObjectURL(url));
    this.clear();
    this.urls = urls;
    this.none = !samples.length;
    const size = el("div", { class: "nbt-soft nbt-size", text: sizeInWords(width, height, more) });
    this.root.replaceChildren(
      ...found.map((sample, i) => this.#figure(sample, this.#name(i, samples.length))),
      size,
    );
  }

  get lack() {
    return this.none ? "No images at this step." : "";
  }

  clear() {
    this.turn++;
    this.urls.forEach((url) => URL.revokeObjectURL(url));
    this.urls = [];
    this.root.replaceChildren();
  }

  /**
   * @param {Bytes[]} bytes
   * @param {string} type
   */
  #image(bytes, type) {
    return el("img", { src: URL.createObjectURL(new Blob(bytes, { type })) });
  }

  /**
   * @param {number} i
   * @param {number} count
   */
  #name(i, count) {
    const { tag, runTitle, steps, at } = this.card;
    return `${tag} of ${runTitle} at step ${steps[at]}${count > 1 ? `, sample ${i + 1} of ${count}` : ""}`;
  }

  /**
   * @param {{problem: string} | {image: HTMLImageElement, scaled: boolean}} sample
   * @param {string} name
   */
  #figure(sample, name) {
    if ("problem" in sample)
      return el("figure", {
        class: "nbt-sample",
        children: [el("div", { class: "nbt-problem", text: sample.problem })],
      });
    const { image, scaled } = sample;
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

/**
 * @param {number} width
 * @param {number} height
 * @param {number} more
 */
function sizeInWords(width, height, more) {
  return `${width} × ${height} pixels${more ? `, and ${more} more images` : ""}`;
}
