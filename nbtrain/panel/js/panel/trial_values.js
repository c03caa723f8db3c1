// The contents of the form of a trial, and the command that they make. Uses no DOM.

import { numberIn } from "../shared/format.js";

/** @import { Command } from "../protocol.d.ts" */

/**
 * The contents of the form. now: the value of the hyperparameter then. tag: the scalar that
 * decides, or DEFAULT or CHOICE. low, high: of a range test.
 * @typedef {{name: string, text: string, now?: number | string}} TypedValue
 * @typedef {{values: TypedValue[], steps: string, tag: string, repeats: string, range: boolean, low: string, high: string}} Typed
 */

export const DEFAULT_TAG = "val_loss"; // the tag that decides by default
export const DEFAULT = ""; // the default tag, recorded by the trial's evaluation
export const CHOICE = "\n"; // no scalar decides: the user chooses afterwards

/**
 * One value, or a list of them: "3e-4, 1e-3".
 * @param {string} typed
 */
export function valuesIn(typed) {
  if (!/[,;]/.test(typed)) return numberIn(typed);
  return typed
    .split(/[,;]/)
    .map(numberIn)
    .filter((value) => value !== "");
}

/**
 * The number of settings to try: all combinations of the lists' values.
 * @param {Pick<Typed, "values">} typed
 */
export function settingsIn({ values }) {
  const lists = values.map(({ text }) => valuesIn(text)).filter(Array.isArray);
  return { several: lists.length > 0, count: lists.reduce((n, list) => n * list.length, 1) };
}

/**
 * The choices of the deciding scalar: each tag once, or for both directions if its direction is unknown.
 * @param {string[]} tags
 * @param {Record<string, boolean>} [higher] by tag, for those that are known
 */
export function decidersOf(tags, higher = {}) {
  return tags.flatMap((tag) => (tag in higher ? [tag] : [`max:${tag}`, `min:${tag}`]));
}

/** @param {string} decider */
export function inWords(decider) {
  const [, way, tag] = /^(max|min):(.*)$/s.exec(decider) ?? [];
  return way ? `${tag} (${way === "max" ? "higher" : "lower"} is better)` : decider;
}

/**
 * @param {Typed} typed
 * @returns {Command & {command: "try"}}
 */
export function commandOf(typed) {
  const steps = Number(typed.steps);
  if (typed.range) {
    const [low, high] = [typed.low, typed.high].map(numberIn);
    const sweep = /** @type {[number, number]} */ ([low, high]);
    return { command: "try", values: { [typed.values[0].name]: low }, steps, keep_if: null, sweep };
  }
  const { several } = settingsIn(typed);
  const values = Object.fromEntries(typed.values.map(({ name, text }) => [name, valuesIn(text)]));
  const usual = several ? DEFAULT_TAG : null;
  const keep_if = typed.tag === CHOICE ? null : typed.tag || usual;
  const repeats = several && typed.repeats !== "1" ? { repeats: Number(typed.repeats) } : {};
  return { command: "try", values, steps, keep_if, ...repeats };
}
