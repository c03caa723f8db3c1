// Parts of all charts: axes, scales, the marks of values that no line can show, and the cursor.

import uPlot from "uplot";
import { isNamed, logPlaces } from "./log_places.js";
import { logTicks, ticks, timeTicks } from "./format.js";
import { lastOf } from "./collections.js";

/** @import { ChartAxis } from "./axis_tools.js" */
/** @import { Bucket, Unseen } from "./buckets.js" */
/** @import { Ends, Outlier, Outliers } from "./outliers.js" */
/** @import { Paint } from "./theme.js" */

/**
 * Returns the labels of an axis at its places.
 * @typedef {(places: number[]) => string[]} Words
 */

/** @typedef {{x: number, kind: Unseen | Outlier["kind"], abandoned?: boolean}} Mark */

/** @type {Record<Mark["kind"], string>} */
const GLYPHS = { NaN: "×", "∞": "▲", "−∞": "▼", "≤ 0": "○", above: "△", below: "▽" };
/** @type {Mark["kind"][]} */
const AT_THE_TOP = ["∞", "above"];
const MARKS_APART = 8; // pixels: a thousand NaN are a row of marks, not a smear
const WHOLE = Array.from({ length: 16 }, (_, power) => [1, 2, 2.5, 5].map((n) => n * 10 ** power))
  .flat()
  .filter(Number.isInteger);
const DECADE = 36; // pixels of a chart's height, with its edges, to each line of many decades
const MINUTE = 60;
const HOUR = 3600;
const SECONDS = [1, 2, 5, 10, 15, 30, MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 30 * MINUTE];
const TIMES = [
  0.001,
  0.01,
  0.1,
  ...SECONDS,
  ...[1, 2, 6, 12, 24, 48, 120, 240, 1200].map((n) => n * HOUR),
];
const MOST = 1e300; // the end of an axis: a longer range overflows a float
export const NOWHERE = { left: -10, top: -10 }; // the position of a hidden cursor
const HIDDEN = { show: false };
/** The look of an edge of a band, and of an abandoned tail. */
export const EDGE = { stroke: "transparent", width: 0, points: HIDDEN };
export const TAIL = { width: 1.25, dash: [4, 3], points: HIDDEN };
export const FAINT = "59"; // of the raw line behind the smoothed one: a third opaque
/** @type {Record<string, number>} */
const STEPS = { ArrowLeft: -0.01, ArrowRight: 0.01 }; // parts of the width
/** @type {Record<string, number>} */
const ENDS = { Home: 0, End: -1 }; // which point
/** @type {Record<ChartAxis, uPlot.Axis>} */
const ALONG = {
  step: { incrs: WHOLE, values: (u, values) => ticks(values) },
  epoch: { values: (u, values) => ticks(values) },
  relative: { incrs: TIMES, values: (u, values) => timeTicks(values) },
  wall: {}, // uPlot's own: dates and times of day
};
/** @type {Partial<Record<ChartAxis, Words>>} */
const ALONG_LOG = {
  step: logTicks,
  epoch: logTicks,
  relative: (values) => values.map((value) => timeTicks([value])[0]),
};

/**
 * The two axes; paint: returns the colours of the current theme.
 * @param {() => Paint} paint
 * @param {{log: boolean, x?: ChartAxis, logX?: boolean}} how
 * @returns {uPlot.Axis[]}
 */
export function axes(paint, { log, x = "step", logX = false }) {
  const words = ALONG_LOG[x];
  const axis = {
    stroke: () => paint().text,
    grid: { stroke: () => paint().grid, width: 1 },
    ticks: { show: false },
    font: paint().font,
    gap: 6,
  };
  return [
    {
      ...axis,
      size: x === "wall" ? 36 : 24,
      space: 64,
      ...(logX && words ? alongLog(words) : ALONG[x]),
    },
    {
      ...axis,
      size: labelWidth,
      space: 32,
      ...(log ? upLog() : { values: (u, values) => labels(u, values, ticks) }),
    },
  ];
}

/**
 * Replaces uPlot's own places, which never end below 1e-32 and are not round above 5e31.
 * @returns {uPlot.Axis}
 */
function upLog() {
  return {
    splits: (u, axis, min, max) => logPlaces(min, max, u.height / DECADE),
    filter: (u, values) => values,
    values: (u, values) =>
      labels(u, values, (all) => logTicks(all.map((value, i) => (isNamed(all, i) ? value : null)))),
  };
}

/**
 * Replaces uPlot's own places, which begin at the lower end: not a round number after a zoom.
 * @param {Words} words
 * @returns {uPlot.Axis}
 */
function alongLog(words) {
  return {
    splits: (u, axis, min, max) => logPlaces(min, max),
    filter: (u, values) => values,
    values: (u, values) => words(values).map((text, i) => (isNamed(values, i) ? text : "")),
  };
}

/**
 * The scale of the values. Without a value that can be shown, it still leaves room for the marks.
 * @param {boolean} log
 * @param {Outliers} [outliers]
 * @returns {uPlot.Scale}
 */
export function yScale(log, outliers) {
  return {
    distr: log ? 3 : 1,
    range: (u, min, max) => {
      /** @type {Ends} */
      const ends = [min, max];
      return range(outliers?.range(u, ends, log) ?? ends, log);
    },
  };
}

/**
 * Draws the marks of values that no line shows.
 * @param {uPlot} u
 * @param {Mark[]} found
 * @param {Paint} paint
 */
export function drawMarks(u, found, { mark, gone }) {
  const { ctx, bbox } = u;
  const ratio = devicePixelRatio || 1;
  /** @type {Record<string, number>} */
  const drawn = {}; // where the last mark of each look stands
  ctx.save();
  ctx.font = `${12 * ratio}px system-ui, sans-serif`;
  ctx.textAlign = "center";
  for (const { x, kind, abandoned = false } of found) {
    const left = u.valToPos(x, "x", true);
    const near = left - (drawn[kind + abandoned] ?? -Infinity) < MARKS_APART * ratio;
    if (near || left < bbox.left - 1 || left > bbox.left + bbox.width + 1) continue;
    drawn[kind + abandoned] = left;
    ctx.fillStyle = abandoned ? gone : mark;
    ctx.fillText(
      GLYPHS[kind],
      left,
      bbox.top + (AT_THE_TOP.includes(kind) ? 11 * ratio : bbox.height - 4 * ratio),
    );
  }
  ctx.restore();
}

/**
 * The position of a plot's cursor in pixels: outside of the plot if the cursor is hidden or missing.
 * @param {uPlot | null} u
 */
export function cursorOf(u) {
  const { left = NOWHERE.left, top = NOWHERE.top } = u?.cursor ?? {};
  return { left, top };
}

/**
 * The part of the horizontal axis that a plot shows; NaN while it is empty.
 * @param {uPlot} u
 */
export function rangeOf({ scales: { x } }) {
  const { min = NaN, max = NaN } = x;
  return { min, max };
}

/**
 * Puts a dot where a bucket is. Hides the dot without a bucket, or outside the plot.
 * @param {HTMLElement} dot
 * @param {uPlot} u
 * @param {Bucket | null | undefined} bucket
 */
export function placeDot(dot, u, bucket) {
  const [left, top] = bucket
    ? [u.valToPos(bucket.x, "x"), u.valToPos(bucket.smooth ?? bucket.mean, "y")]
    : [NaN, NaN];
  dot.hidden = !(Number.isFinite(left) && top >= 0 && top <= u.over.clientHeight);
  dot.classList.toggle("nbt-gone", Boolean(bucket?.abandoned));
  dot.style.transform = `translate(${left}px, ${top}px)`;
}

/**
 * The scale of the places: uPlot would show a single one between 0 and twice as many. zoom: returns the
 * part that the user has chosen.
 * @param {boolean} log
 * @param {ChartAxis} [x]
 * @param {() => {min: number, max: number} | null} [zoom]
 * @returns {uPlot.Scale}
 */
export function xScale(log, x = "step", zoom = () => null) {
  /** @type {uPlot.Range.Function} */
  const range = ({ data: [x] }, min, max) => {
    const chosen = zoom();
    if (chosen) return [chosen.min, chosen.max];
    if (!x.length) return log ? [1, 10] : [0, 1];
    if (x[0] < lastOf(x)) return [min, max];
    return log ? [x[0] / 2, x[0] * 2] : [x[0] - 1, x[0] + 1];
  };
  return { time: x === "wall", distr: log ? 3 : 1, range };
}

/**
 * Moves the cursor of a chart by an arrow key, ten times as far with Shift, or to its first or last
 * visible point; returns whether it was such a key.
 * @param {uPlot} u
 * @param {KeyboardEvent} event
 */
export function moveByKey(u, { key, shiftKey, altKey, ctrlKey, metaKey }) {
  if (!(isArrow(key) || key in ENDS) || altKey || ctrlKey || metaKey) return false;
  const { clientWidth: width, clientHeight: height } = u.over;
  const cursor = cursorOf(u);
  const left = cursor.left >= 0 ? cursor.left : width / 2;
  const point = u.data[0].at(ENDS[key]);
  const to = isArrow(key)
    ? left + STEPS[key] * width * (shiftKey ? 10 : 1)
    : point === undefined
      ? left
      : u.valToPos(point, "x");
  u.setCursor({ left: Math.min(width, Math.max(0, to)), top: height / 2 });
  return true;
}

/** @param {string} key */
export const isArrow = (key) => key in STEPS;

/**
 * @param {Ends} ends
 * @param {boolean} log
 * @returns {uPlot.Range.MinMax}
 */
function range([least, greatest], log) {
  if (least === null || greatest === null) return [0.1, 1];
  const [min, max] = [least, greatest].map((y) => Math.max(-MOST, Math.min(MOST, y)));
  const room = min === max ? Math.abs(min) / 10 || 1 : 0; // one value is in the middle
  if (!log) return uPlot.rangeNum(min - room, max + room, 0.1, true);
  return [rounded(min * 0.99, Math.floor), rounded(max * 1.01, Math.ceil)]; // its lines begin there
}

/**
 * Rounds to one digit.
 * @param {number} y
 * @param {(y: number) => number} how
 */
function rounded(y, how) {
  const power = 10 ** Math.floor(Math.log10(y));
  return how(y / power) * power;
}

/**
 * @param {uPlot} u
 * @param {number[]} values
 * @param {Words} words
 */
function labels({ data: [, ...lines] }, values, words) {
  for (const line of lines) for (const y of line) if (y != null) return words(values);
  return values.map(() => "");
}

/**
 * The width of an axis: equal for neighbouring charts unless a label needs more.
 * @param {uPlot} _u
 * @param {string[]} [values]
 */
function labelWidth(_u, values) {
  return Math.max(50, 8 + 6.5 * Math.max(0, ...(values ?? []).map((text) => text.length)));
}
