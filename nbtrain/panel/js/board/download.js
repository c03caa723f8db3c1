// Downloads of a chart: its points, and its picture.

import { contextOf } from "../shared/dom.js";

/** @import { Paint } from "../shared/theme.js" */
/** @import { Look } from "./tags.js" */

const ROW = 18; // pixels of a line of the legend
const SAMPLE = 28; // pixels of a line's sample
const LONGEST = 80; // characters of a file's name: systems take 255 bytes

/**
 * Lets the browser save a blob.
 * @param {Blob} blob
 * @param {string} name
 * @param {string} ending
 */
export function download(blob, name, ending) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = fileName(name, ending);
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/**
 * Returns a name for a file: forbidden characters become underscores, and it is neither empty nor
 * hidden.
 * @param {string} name
 * @param {string} ending
 */
function fileName(name, ending) {
  const kept = name.replace(/[^\p{L}\p{N}._ -]+|^\.+/gu, "_");
  return `${[...kept].slice(0, LONGEST).join("").trim() || "untitled"}${ending}`;
}

/**
 * Makes a PNG of the canvas, with its title above and the runs below.
 * @param {HTMLCanvasElement} canvas
 * @param {{title: string, legend: (Look & {run: string})[], paint: Paint}} around
 * @param {BlobCallback} done
 */
export function picture(canvas, { title, legend, paint }, done) {
  const ratio = devicePixelRatio || 1;
  const width = canvas.width / ratio;
  const height = canvas.height / ratio;
  const copy = document.createElement("canvas");
  copy.width = canvas.width;
  copy.height = (height + 28 + ROW * legend.length + 8) * ratio;
  const ctx = contextOf(copy);
  ctx.scale(ratio, ratio);
  ctx.fillStyle = paint.face;
  ctx.fillRect(0, 0, width, copy.height);
  ctx.fillStyle = paint.strong;
  ctx.font = "600 13px system-ui, sans-serif";
  ctx.fillText(fitting(ctx, title, width - 16), 8, 18);
  ctx.drawImage(canvas, 0, 28, width, height);
  ctx.font = "12px system-ui, sans-serif";
  legend.forEach(({ run, colour, dash, alpha = 1 }, i) => {
    const y = height + 28 + ROW * i + ROW / 2;
    ctx.strokeStyle = colour;
    ctx.globalAlpha = alpha;
    ctx.lineWidth = 2;
    ctx.setLineDash(dash);
    ctx.beginPath();
    ctx.moveTo(8, y);
    ctx.lineTo(8 + SAMPLE, y);
    ctx.stroke();
    ctx.globalAlpha = 1;
    ctx.fillText(fitting(ctx, run, width - 24 - SAMPLE), 16 + SAMPLE, y + 4);
  });
  copy.toBlob(done, "image/png");
}

/**
 * Shortens a text to a width.
 * @param {CanvasRenderingContext2D} ctx
 * @param {string} text
 * @param {number} width
 */
function fitting(ctx, text, width) {
  if (ctx.measureText(text).width <= width) return text;
  let kept = [...text].slice(0, width); // no letter is narrower than a pixel
  while (kept.length && ctx.measureText(`${kept.join("")}…`).width > width)
    kept = kept.slice(0, -1);
  return `${kept.join("")}…`;
}
