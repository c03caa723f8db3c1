// Files that a page offers: a chart's points, and its picture.

const ROW = 18; // pixels of a line of the legend
const SAMPLE = 28; // pixels of a line's sample

// Let the browser save a blob; what a file name must not hold becomes a line.
export function download(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name.replace(/[^\p{L}\p{N}._ -]+/gu, "_").slice(0, 120);
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

// The canvas with its title above and the runs below, as a PNG.
export function picture(canvas, { title, legend, paint }, done) {
  const ratio = devicePixelRatio || 1;
  const width = canvas.width / ratio;
  const height = canvas.height / ratio;
  const copy = document.createElement("canvas");
  copy.width = canvas.width;
  copy.height = (height + 28 + ROW * legend.length + 8) * ratio;
  const ctx = copy.getContext("2d");
  ctx.scale(ratio, ratio);
  ctx.fillStyle = paint.face;
  ctx.fillRect(0, 0, width, copy.height);
  ctx.fillStyle = paint.strong;
  ctx.font = "600 13px system-ui, sans-serif";
  ctx.fillText(title, 8, 18, width - 16);
  ctx.drawImage(canvas, 0, 28, width, height);
  ctx.font = "12px system-ui, sans-serif";
  legend.forEach(({ run, colour, dash }, i) => {
    const y = height + 28 + ROW * i + ROW / 2;
    ctx.strokeStyle = colour;
    ctx.lineWidth = 2;
    ctx.setLineDash(dash);
    ctx.beginPath();
    ctx.moveTo(8, y);
    ctx.lineTo(8 + SAMPLE, y);
    ctx.stroke();
    ctx.fillText(run, 16 + SAMPLE, y + 4, width - 24 - SAMPLE);
  });
  copy.toBlob(done, "image/png");
}
