// The sounds of a step, with labels and lengths.

import { el } from "../dom.js";
import { number } from "../format.js";

/** @import { Sounds } from "../../protocol.d.ts" */
/** @import { Bytes } from "../connection.js" */
/** @import { Body, BodyCard } from "./body.d.ts" */

export class AudioBody {
  /** @param {BodyCard} card */
  constructor(card) {
    this.card = card;
    /** @type {string[]} */
    this.urls = [];
    this.root = el("div", { class: "nbt-sounds" });
  }

  /** @type {Body<Sounds>["show"]} */
  show({ samples, more }, buffers) {
    this.clear();
    const left = [...buffers];
    const sounds = samples.map((sample, i) =>
      this.#sound(sample, left, `sound ${i + 1} of ${samples.length + more}`),
    );
    const rest = more ? [el("div", { class: "nbt-soft", text: `and ${more} more sounds` })] : [];
    this.root.replaceChildren(...sounds, ...rest);
  }

  clear() {
    this.urls.forEach((url) => URL.revokeObjectURL(url));
    this.urls = [];
    this.root.replaceChildren();
  }

  /**
   * @param {Sounds["samples"][number]} sample
   * @param {Bytes[]} left buffers of the samples from this one on; a sample with a problem has none
   * @param {string} name
   */
  #sound({ type, label, seconds, problem }, left, name) {
    const length = seconds == null ? "" : `${number(seconds)} s`;
    const line = el("div", {
      class: "nbt-sound-line",
      children: [
        el("span", { text: label || name }),
        el("span", { class: "nbt-soft", text: length }),
      ],
    });
    if (problem)
      return el("div", {
        class: "nbt-sound",
        children: [line, el("div", { class: "nbt-problem", text: problem })],
      });
    const url = URL.createObjectURL(new Blob(left.splice(0, 1), { type }));
    this.urls.push(url);
    return el("div", {
      class: "nbt-sound",
      children: [
        line,
        el("audio", {
          controls: "",
          preload: "none",
          src: url,
          "aria-label": `${name}: ${this.card.tag} of ${this.card.runTitle}`,
        }),
      ],
    });
  }
}
