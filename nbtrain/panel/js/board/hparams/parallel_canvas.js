// Draws parallel coordinates: lines, axes, brushes, and the highlighted runs.

import { contextOf } from "../../shared/dom.js";

/** @import { Polylines, Room } from "./polylines.js" */
/** @import { Drawn } from "./parallel_view.js" */
/** @import { Paint } from "../../shared/theme.js" */
/** @import { HparamsRow } from "../pages/hparams_page.js" */

const FONT = 11; // pixels
const FAINT = 0.2; // the opacity of lines that a filter excludes
const BRUSH = 7; // pixels on each side of an axis

/**
 * Clears and resizes a canvas; returns a context that draws in the page's pixels.
 * @param {HTMLCanvasElement} canvas
 * @param {{width: number, height: number}} size
 */
function cleared(canvas, { width, height }) {
  const ratio = devicePixelRatio || 1;
  Object.assign(canvas, { width: Math.round(width * ratio), height: Math.round(height * ratio) });
  Object.assign(canvas.style, { width: `${width}px`, height: `${height}px` });
  const context = contextOf(canvas);
  context.scale(ratio, ratio);
  return context;
}

/**
 * Draws everything that does not depend on the pointer.
 * @param {HTMLCanvasElement} canvas
 * @param {Drawn} drawn
 */
export function drawLines(canvas, { size, room, lines, shades, others, axes, paint }) {
  const context = cleared(canvas, size);
  context.lineJoin = "round";
  context.globalAlpha = FAINT;
  stroke(context, lines, others, room, { colour: paint.gone, width: 1 });
  const count = [...shades.values()].reduce((n, rows) => n + rows.length, 0);
  context.globalAlpha = count > 600 ? 0.5 : count > 100 ? 0.75 : 0.95;
  const width = count > 600 ? 0.75 : count > 100 ? 1 : 1.5;
  for (const [colour, rows] of shades) stroke(context, lines, rows, room, { colour, width });
  context.globalAlpha = 1;
  axes.forEach(({ ticks, missing, stretches }, i) => {
    const x = room.xs[i];
    context.fillStyle = `${paint.accent}30`;
    for (const [from, to] of stretches) {
      const [low, high] = [from, to].map((part) => room.bottom + (room.top - room.bottom) * part);
      context.fillRect(x - BRUSH, high, 2 * BRUSH, low - high);
      Object.assign(context, { strokeStyle: paint.accent, lineWidth: 1 });
      context.strokeRect(x - BRUSH, high, 2 * BRUSH, low - high);
    }
    rule(context, x, room, paint);
    for (const { place, text } of ticks)
      label(context, text, x, room.bottom + (room.top - room.bottom) * place, paint);
    if (missing) label(context, `– ${missing.toLocaleString("en")}`, x, room.none, paint);
  });
}

/**
 * Draws the highlighted lines.
 * @param {HTMLCanvasElement} canvas
 * @param {Pick<Drawn, "size" | "room" | "lines" | "paint">} drawn
 * @param {{row: HparamsRow, colour: string}[]} out
 */
export function drawOut(canvas, { size, room, lines, paint }, out) {
  const context = cleared(canvas, size);
  context.lineJoin = "round";
  for (const { row, colour } of out) {
    stroke(context, lines, [row], room, { colour: paint.face, width: 6 });
    stroke(context, lines, [row], room, { colour, width: 3 });
    context.fillStyle = colour;
    room.xs.forEach((x, i) => {
      context.beginPath();
      context.arc(x, lines.heightOf(row, i, room), 4, 0, 7);
      context.fill();
    });
  }
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Polylines} lines
 * @param {HparamsRow[]} rows
 * @param {Room} room
 * @param {{colour: string, width: number}} look
 */
function stroke(context, lines, rows, room, { colour, width }) {
  const { xs } = room;
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.beginPath();
  for (const row of rows) {
    if (xs.length === 1) context.moveTo(xs[0] - 12, lines.heightOf(row, 0, room)); // a stroke of its own
    for (let i = 0; i < xs.length; i++) {
      const y = lines.heightOf(row, i, room);
      if (i || xs.length === 1) context.lineTo(xs[i], y);
      else context.moveTo(xs[i], y);
    }
  }
  context.stroke();
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {number} x
 * @param {Room} room
 * @param {Paint} paint
 */
function rule(context, x, { top, bottom }, paint) {
  context.strokeStyle = paint.text;
  context.lineWidth = 1;
  context.beginPath();
  context.moveTo(x, top);
  context.lineTo(x, bottom);
  context.stroke();
}

/**
 * A text to the left of an axis, legible over lines.
 * @param {CanvasRenderingContext2D} context
 * @param {string} text
 * @param {number} x
 * @param {number} y
 * @param {Paint} paint
 */
function label(context, text, x, y, paint) {
  context.strokeStyle = paint.text;
  context.lineWidth = 1;
  context.beginPath();
  context.moveTo(x - 3, y);
  context.lineTo(x, y);
  context.stroke();
  if (!text) return;
  const cut = text.length > 14 ? `${text.slice(0, 6)}…${text.slice(-7)}` : text;
  Object.assign(context, { font: paint.font, textAlign: "right", textBaseline: "middle" });
  Object.assign(context, { lineWidth: 3, lineJoin: "round", strokeStyle: paint.face });
  context.strokeText(cut, x - 6, y + FONT / 12);
  context.fillStyle = paint.strong;
  context.fillText(cut, x - 6, y + FONT / 12);
}
