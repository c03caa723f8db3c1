// The drawing of a graph: moved by dragging or the arrow keys; zoomed by + and -, by Ctrl and the wheel,
// or by its buttons. Its nodes are buttons, one of which is in the tab order.

import { button, el } from "../../shared/dom.js";
import { get } from "../../shared/collections.js";
import { drawnEdge, drawnItem } from "./drawn.js";
import { laidOut } from "./layout.js";
import { anchored, neighbourOf, centred, moved, fitted, zoomed } from "./transform.js";
import { svg } from "../svg.js";

/** @import { Graph, GraphItem } from "../../protocol.d.ts" */
/** @import { Box, GraphLayout, Point } from "./layout.js" */
/** @import { Transform } from "./transform.js" */

const STEP = 40; // pixels that an arrow key moves
const ZOOM = 1.25;
const BUTTONS = 34; // pixels at the bottom that the buttons take
const DRAGGED = 4; // pixels from which a press is a drag, not a click
const WHEEL = 0.002; // zoom per pixel of the wheel
/** @type {Record<string, Point>} */
const MOVES = {
  ArrowLeft: { x: STEP, y: 0 },
  ArrowRight: { x: -STEP, y: 0 },
  ArrowUp: { x: 0, y: STEP },
  ArrowDown: { x: 0, y: -STEP },
};
const HELP =
  "Drag to move, Ctrl and the wheel to zoom. With the keyboard: arrows, +, − and 0; Tab moves to the nodes, arrows from one to the next, Enter expands";

export class GraphCanvas {
  /** @param {(item: GraphItem) => void} act called when an item is clicked */
  constructor(act) {
    this.act = act;
    /** @type {Graph | null} */
    this.graph = null;
    /** @type {GraphLayout | null} */
    this.layout = null;
    /** @type {Transform} */
    this.transform = { x: 0, y: 0, scale: 1 };
    /** @type {Map<number, SVGGElement>} */
    this.nodes = new Map();
    /** @type {number | null} */
    this.anchor = null; // the item that keeps its position in the next drawing
    /** @type {number | null} */
    this.centre = null; // the item to centre in the next drawing
    this.unfitted = false;
    this.scene = svg("g");
    this.drawing = svg("svg", { tabindex: 0, role: "application", children: [this.scene] });
    this.drawing.addEventListener("keydown", (event) => this.#key(event));
    this.drawing.addEventListener("pointerdown", (event) => this.#press(event));
    this.drawing.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
    const zoom = el("div", {
      class: "nbt-graph-zoom",
      children: [
        titled("−", "zoom out", () => this.#zoom(1 / ZOOM)),
        titled("+", "zoom in", () => this.#zoom(ZOOM)),
        titled("fit", "fit the whole graph", () => this.fit()),
      ],
    });
    this.root = el("div", { class: "nbt-graph-frame", children: [this.drawing, zoom] });
    this.size = new ResizeObserver(() => this.unfitted && this.fit());
    this.size.observe(this.root);
  }

  /**
   * @param {Graph} graph
   * @param {string} label
   */
  show(graph, label) {
    const other = this.graph?.of !== graph.of;
    const before = this.layout;
    const after = laidOut(graph);
    const focused = this.#focused();
    this.graph = graph;
    this.layout = after;
    this.drawing.setAttribute("aria-label", `${label}. ${HELP}`);
    this.#draw(graph, after);
    const centre = boxOf(after, this.centre);
    const [from, to] = [before, after].map((layout) => boxOf(layout, this.anchor));
    if (centre) this.#centre(centre);
    else if (other) this.fit();
    else if (from && to) this.#transform(anchored(this.transform, corner(from), corner(to)));
    this.anchor = this.centre = null;
    if (focused !== null) (this.nodes.get(focused) ?? this.drawing).focus({ preventScroll: true });
    this.root.dataset.items = String(graph.items.length);
    this.root.dataset.edges = String(after.edges.length);
  }

  clear() {
    this.graph = this.layout = null;
    this.nodes.clear();
    this.scene.replaceChildren();
    this.root.dataset.items = this.root.dataset.edges = "0";
  }

  fit() {
    const frame = this.#frame();
    this.unfitted = !frame.width; // hidden: fitted once it is shown
    frame.height -= BUTTONS;
    if (this.layout && frame.width) this.#transform(fitted(this.layout, frame));
  }

  /**
   * Centres an item, now or once it is drawn.
   * @param {number} number
   */
  reveal(number) {
    const box = boxOf(this.layout, number);
    if (box) {
      this.#centre(box);
      this.anchor = number;
    } else this.centre = number;
  }

  close() {
    this.size.disconnect();
  }

  /**
   * Highlights an item and its edges; null highlights none.
   * @param {number | null} number
   */
  select(number) {
    for (const [each, node] of this.nodes) node.classList.toggle("nbt-selected", each === number);
    for (const edge of this.scene.querySelectorAll(".nbt-edge")) {
      const { source, target } = /** @type {SVGElement} */ (edge).dataset;
      const ends = [Number(source), Number(target)];
      edge.classList.toggle("nbt-selected", number !== null && ends.includes(number));
    }
    if (number !== null && this.nodes.has(number)) this.#makeTabStop(number);
  }

  /**
   * @param {Graph} graph
   * @param {GraphLayout} layout
   */
  #draw({ items }, { boxes, edges }) {
    this.nodes = new Map(items.map((item) => [item.number, this.#node(item, boxes)]));
    const [open, others] = [true, false].map((wanted) =>
      items.filter(({ open }) => open === wanted).map(({ number }) => get(this.nodes, number)),
    );
    this.scene.replaceChildren(...open, ...edges.map(drawnEdge), ...others);
    if (items.length) this.#makeTabStop(items[0].number);
  }

  /**
   * @param {GraphItem} item
   * @param {GraphLayout["boxes"]} boxes
   */
  #node(item, boxes) {
    const node = drawnItem(item, get(boxes, item.number));
    node.addEventListener("click", () => this.act(item));
    node.addEventListener("keydown", (event) => this.#keyOfNode(event, item));
    return node;
  }

  /**
   * Sets the one item in the tab order.
   * @param {number} number
   */
  #makeTabStop(number) {
    for (const [each, node] of this.nodes) node.tabIndex = each === number ? 0 : -1;
  }

  /** @returns {number | null} */
  #focused() {
    const { activeElement } = document;
    for (const [number, node] of this.nodes) if (node === activeElement) return number;
    return null;
  }

  #frame() {
    return { width: this.drawing.clientWidth, height: this.drawing.clientHeight };
  }

  /** @param {Transform} transform */
  #transform(transform) {
    this.transform = transform;
    const { x, y, scale } = transform;
    this.scene.setAttribute("transform", `translate(${x} ${y}) scale(${scale})`);
  }

  /** @param {Box} box */
  #centre(box) {
    this.#transform(centred(this.transform, box, this.#frame()));
  }

  /**
   * @param {number} factor
   * @param {Point} [point]
   */
  #zoom(factor, point) {
    const { width, height } = this.#frame();
    this.#transform(zoomed(this.transform, factor, point ?? { x: width / 2, y: height / 2 }));
  }

  /** @param {WheelEvent} event */
  #wheel(event) {
    if (!event.ctrlKey && !event.metaKey) return; // the page scrolls
    event.preventDefault();
    const { left, top } = this.drawing.getBoundingClientRect();
    const point = { x: event.clientX - left, y: event.clientY - top };
    this.#zoom(Math.exp(-event.deltaY * WHEEL), point);
  }

  /** @param {PointerEvent} event */
  #press({ button, pointerId, clientX, clientY }) {
    if (button) return;
    const began = this.transform;
    let drags = false;
    const stop = new AbortController();
    const { signal } = stop;
    /** @param {PointerEvent} event */
    const move = (event) => {
      if (event.pointerId !== pointerId) return;
      const by = { x: event.clientX - clientX, y: event.clientY - clientY };
      if (!drags && Math.hypot(by.x, by.y) < DRAGGED) return;
      if (!drags) this.drawing.setPointerCapture(pointerId); // so that no node is clicked
      drags = true;
      this.drawing.classList.add("nbt-dragged");
      this.#transform(moved(began, by));
    };
    const end = () => {
      this.drawing.classList.remove("nbt-dragged");
      stop.abort();
    };
    this.drawing.addEventListener("pointermove", move, { signal });
    for (const name of ["pointerup", "pointercancel"])
      this.drawing.addEventListener(name, end, { signal });
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const { key, altKey, ctrlKey, metaKey } = event;
    if (altKey || ctrlKey || metaKey) return;
    if (key in MOVES) this.#transform(moved(this.transform, MOVES[key]));
    else if (key === "+" || key === "=") this.#zoom(ZOOM);
    else if (key === "-") this.#zoom(1 / ZOOM);
    else if (key === "0") this.fit();
    else return;
    event.preventDefault();
    event.stopPropagation(); // not a command of the notebook
  }

  /**
   * @param {KeyboardEvent} event
   * @param {GraphItem} item
   */
  #keyOfNode(event, item) {
    const { key, altKey, ctrlKey, metaKey } = event;
    if (altKey || ctrlKey || metaKey) return;
    if (key === "Enter" || key === " ") this.act(item);
    else if (key === "Escape") this.drawing.focus();
    else if (key in MOVES) this.#focusNeighbour(item.number, key);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /**
   * @param {number} from
   * @param {string} key
   */
  #focusNeighbour(from, key) {
    const to = this.layout && neighbourOf(this.layout.boxes, from, key);
    const box = boxOf(this.layout, to);
    if (to === null || !box) return;
    this.#makeTabStop(to);
    get(this.nodes, to).focus({ preventScroll: true });
    const { width, height } = this.#frame();
    const left = this.transform.x + this.transform.scale * box.x;
    const top = this.transform.y + this.transform.scale * box.y;
    if (left < 0 || top < 0 || left > width || top > height) this.#centre(box);
  }
}

/**
 * @param {string} text
 * @param {string} title
 * @param {() => void} act
 */
function titled(text, title, act) {
  return button({ text, title, "aria-label": title }, act);
}

/**
 * The box of an item; undefined if it is not drawn.
 * @param {GraphLayout | null} layout
 * @param {number | null} number
 */
function boxOf(layout, number) {
  return number === null ? undefined : layout?.boxes.get(number);
}

/** @param {Box} box */
function corner({ x, y, width, height }) {
  return { x: x - width / 2, y: y - height / 2 };
}
