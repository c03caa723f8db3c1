// The position and scale of a drawing in its frame. Uses no DOM.

import { get } from "../../shared/collections.js";

/** @import { Box, Point } from "./layout.js" */

/**
 * The position of a drawing's origin in its frame, and its scale.
 * @typedef {Point & {scale: number}} Transform
 */

const LEAST = 0.1;
const GREATEST = 4;
const READABLE = 0.35; // the least scale of a fitted drawing; a larger one shows its upper part

/**
 * Fits the whole drawing into the frame if it stays readable, else its upper part.
 * @param {{width: number, height: number}} drawing
 * @param {{width: number, height: number}} frame
 * @returns {Transform}
 */
export function fitted(drawing, frame) {
  const fits = Math.min(1, frame.width / drawing.width, frame.height / drawing.height);
  const scale = Math.max(READABLE, fits);
  const free = frame.height - scale * drawing.height;
  return { scale, x: (frame.width - scale * drawing.width) / 2, y: Math.max(0, free / 2) };
}

/**
 * Zooms around a point of the frame.
 * @param {Transform} transform
 * @param {number} factor
 * @param {Point} point
 * @returns {Transform}
 */
export function zoomed({ scale, x, y }, factor, point) {
  const to = Math.min(GREATEST, Math.max(LEAST, scale * factor));
  const by = to / scale;
  return { scale: to, x: point.x - by * (point.x - x), y: point.y - by * (point.y - y) };
}

/**
 * @param {Transform} transform
 * @param {Point} by
 * @returns {Transform}
 */
export function moved({ scale, x, y }, by) {
  return { scale, x: x + by.x, y: y + by.y };
}

/**
 * Keeps a point of a changed drawing at its position in the frame.
 * @param {Transform} transform
 * @param {Point} before
 * @param {Point} after
 * @returns {Transform}
 */
export function anchored({ scale, x, y }, before, after) {
  return { scale, x: x + scale * (before.x - after.x), y: y + scale * (before.y - after.y) };
}

/**
 * Centres a point in the frame, at a readable scale.
 * @param {Transform} transform
 * @param {Point} point
 * @param {{width: number, height: number}} frame
 * @returns {Transform}
 */
export function centred({ scale }, point, frame) {
  const to = Math.max(scale, 2 * READABLE);
  return { scale: to, x: frame.width / 2 - to * point.x, y: frame.height / 2 - to * point.y };
}

/**
 * The number of the box to which an arrow key moves: the nearest one on that side, where the direction
 * counts more than the distance. null if there is none.
 * @param {Map<number, Box>} boxes
 * @param {number} from
 * @param {string} key
 */
export function neighbourOf(boxes, from, key) {
  const at = get(boxes, from);
  const [across, along] = key === "ArrowLeft" || key === "ArrowRight" ? ["y", "x"] : ["x", "y"];
  const sign = key === "ArrowRight" || key === "ArrowDown" ? 1 : -1;
  let best = null;
  let least = Infinity;
  for (const [number, box] of boxes) {
    /** @param {string} axis */
    const apart = (axis) => (axis === "x" ? box.x - at.x : box.y - at.y);
    const ahead = sign * apart(along);
    const far = ahead + 3 * Math.abs(apart(across));
    if (number !== from && ahead > 1 && far < least) [best, least] = [number, far];
  }
  return best;
}
