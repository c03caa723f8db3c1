// Texts of numbers and buckets. A value has the same form as in the kernel's texts.

/** @import { ChartAxis } from "./axis_tools.js" */
/** @import { Bucket, UnseenBucket } from "./buckets.js" */

const PRECISE = 15; // the significant digits of a float

/**
 * Formats a number with four digits, like Python's ".4g".
 * @param {number} value
 */
export function number(value) {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const [digits, exponent] = value.toExponential(3).split("e").map(Number);
  if (exponent >= -4 && exponent < 4) return String(Number(value.toPrecision(4)));
  return `${digits}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
}

/**
 * The labels of an axis: short, with the digits that distinguish neighbours.
 * @param {number[]} values
 */
export function ticks(values) {
  const size = Math.max(...values.map(Math.abs));
  const gap = values.length > 1 ? Math.abs(values[1] - values[0]) : size;
  if (size > 0 && (size < 1e-3 || size >= 1e9)) return values.map((value) => power(value, gap));
  const [unit, name] = size >= 1e6 ? [1e6, "M"] : size >= 1e4 ? [1e3, "k"] : [1, ""];
  const places = decimals(gap / unit);
  const form = { minimumFractionDigits: places, maximumFractionDigits: places };
  return values.map((value) =>
    value === 0 ? "0" : (value / unit).toLocaleString("en", form) + name,
  );
}

/**
 * The labels of a logarithmic axis; null is a line without a label.
 * @param {(number | null)[]} values
 */
export function logTicks(values) {
  return values.map((value) => {
    if (value === null) return "";
    const plain = value >= 1e-3 && value < 1e4;
    return plain ? String(Number(value.toPrecision(3))) : power(value, value);
  });
}

/**
 * The labels of an axis of seconds: "2.5 s" below a minute, else like a clock.
 * @param {number[]} values
 */
export function timeTicks(values) {
  const most = Math.max(...values.map(Math.abs));
  return most < 60 ? ticks(values).map((text) => `${text} s`) : values.map(duration);
}

/**
 * Seconds as "1:02:03", or "2:03" below an hour, after the days if there are any.
 * @param {number} seconds
 */
export function duration(seconds) {
  const whole = Math.round(Math.abs(seconds));
  const [days, hours, minutes] = [
    Math.floor(whole / 86400),
    Math.floor(whole / 3600) % 24,
    Math.floor(whole / 60) % 60,
  ];
  const clock = `${days || hours ? `${hours}:${two(minutes)}` : minutes}:${two(whole % 60)}`;
  return `${seconds < 0 ? "−" : ""}${days ? `${days} d ` : ""}${clock}`;
}

/**
 * A place on an axis: "step 1,200", "epoch 2.5", "0:02:10", "2026-03-01 12:04:33".
 * @param {number} x
 * @param {ChartAxis} axis
 */
export function place(x, axis) {
  if (axis === "relative") return Math.abs(x) < 60 ? `${number(x)} s` : duration(x);
  if (axis === "step") return `step ${x.toLocaleString("en")}`;
  if (axis === "epoch") return `epoch ${x.toLocaleString("en", { maximumFractionDigits: 2 })}`;
  const date = new Date(x * 1000);
  const day = [date.getFullYear(), date.getMonth() + 1, date.getDate()].map(two).join("-");
  return `${day} ${date.toTimeString().slice(0, 8)}`;
}

/**
 * A time of day, after its date unless that is today.
 * @param {number} wall
 * @param {Date} [now]
 */
export function clock(wall, now = new Date()) {
  const [day, time] = place(wall, "wall").split(" ");
  return place(now.getTime() / 1000, "wall").startsWith(day) ? time : `${day} ${time}`;
}

/**
 * Describes a bucket (see buckets.js) for a legend: its step, and its place on another axis.
 * @param {Bucket | null} bucket
 * @param {ChartAxis} [axis]
 */
export function describe(bucket, axis = "step") {
  if (!bucket) return "";
  const { x, step, mean, lo, hi, also, abandoned, smooth } = bucket;
  const average = smooth === undefined ? "" : `  smoothed ${number(smooth)}`;
  const range = lo < hi ? `  (${number(lo)} to ${number(hi)})` : "";
  const where = axis === "step" ? "" : ` · ${axis === "wall" ? clock(x) : place(x, axis)}`;
  return `${place(step, "step")}${where}  ${number(mean)}${average || range}${more(also, "  ")}${abandoned ? "  abandoned" : ""}`;
}

/**
 * Describes the best value of a chart with its step, or the steps between which it lies.
 * @param {{value: number, from: number, to: number}} best
 */
export function describeBest({ value, from, to }) {
  const [first, last] = [from, to].map((step) => step.toLocaleString("en"));
  return `${number(value)} at ${first}${to > from ? ` to ${last}` : ""}`;
}

/**
 * Describes the validation's bucket for a step; the bucket may be an earlier one.
 * @param {Bucket} bucket
 * @param {number} step
 */
export function describeValidation({ step: own, mean, also, abandoned, smooth }, step) {
  const average = smooth === undefined ? "" : ` smoothed ${number(smooth)}`;
  return `val ${number(mean)}${average}${more(also, " ")}${own === step ? "" : ` at ${own.toLocaleString("en")}`}${abandoned ? "  abandoned" : ""}`;
}

/**
 * Names the other values of a bucket: "also NaN".
 * @param {string[]} kinds
 * @param {string} space before it
 */
export function more(kinds, space = "") {
  return kinds.length ? `${space}also ${inWords(kinds)}` : "";
}

/**
 * How many values a line cannot show, by kind: "2 NaN · 1 ∞"; "some are ≤ 0" where that is not
 * known, as of buckets of several.
 * @param {UnseenBucket[]} marks
 */
export function tally(marks) {
  /** @type {Map<string, number>} */
  const counts = new Map(); // NaN: it is not known how many
  for (const { kind, abandoned, count = NaN } of marks)
    if (!abandoned) counts.set(kind, (counts.get(kind) ?? 0) + count);
  return [...counts]
    .map(([kind, count]) => `${Number.isNaN(count) ? "some" : count.toLocaleString("en")} ${kind}`)
    .join(" · ");
}

/**
 * Shortens a text to whole words; only very long words are cut.
 * @param {string} text
 * @param {number} most
 */
export function shortened(text, most) {
  if (text.length <= most) return text;
  return `${text.slice(0, most + 1).replace(/\s\S{0,20}$/, "")} …`;
}

/**
 * Joins names: "one, two and three".
 * @param {string[]} names
 */
export function inWords(names) {
  const last = names.at(-1);
  return names.length > 1 ? `${names.slice(0, -1).join(", ")} and ${last}` : last;
}

/**
 * The number in a typed text; any other text stays as it is, and is refused with a reason.
 * @param {string} typed
 */
export function numberIn(typed) {
  const text = typed.trim().replace("−", "-");
  const number = Number(text);
  return text === "" || !Number.isFinite(number) ? text : number;
}

/**
 * A value as "7.5e-5", with two digits more than it needs to differ from its neighbour.
 * @param {number} value
 * @param {number} gap
 */
function power(value, gap) {
  if (value === 0) return "0";
  const digits = Math.max(
    2,
    2 + Math.floor(Math.log10(Math.abs(value))) - Math.floor(Math.log10(gap)),
  );
  const [factor, exponent] = value.toExponential(Math.min(digits, PRECISE)).split("e").map(Number);
  return `${factor}e${exponent}`;
}

/**
 * Two digits, as in a clock or a date.
 * @param {number} n
 */
function two(n) {
  return String(n).padStart(2, "0");
}

/**
 * The number of decimals of the gap between two labels. A gap of floats is not exact.
 * @param {number} gap
 */
function decimals(gap) {
  let places = 0;
  while (places < PRECISE && !isWhole(gap * 10 ** places)) places++;
  return places;
}

/** @param {number} size */
function isWhole(size) {
  return Math.abs(size - Math.round(size)) <= 1e-3 * size;
}
