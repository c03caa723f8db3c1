// A chart as a drawing, which the kernel makes.

import { download } from "../download.js";

/** @import { DrawnLine } from "../../protocol.d.ts" */
/** @import { BoardConnection } from "../board_connection.js" */
/** @import { OverlayChart } from "./overlay_chart.js" */

/**
 * Lets the browser save a drawing of a chart. The words below the chart stay, unless it is refused.
 * @param {BoardConnection} connection
 * @param {OverlayChart} chart
 * @param {DrawnLine[]} lines
 */
export async function saveDrawing(connection, chart, lines) {
  const { log, outliers, tag } = chart;
  const look = { lines, log, outliers: outliers.all };
  const { content, buffers } = await connection.ask({
    t: "svg",
    ...chart.wantOf(tag, null),
    ...look,
  });
  if (content.t === "file")
    download(new Blob([buffers[0]], { type: "image/svg+xml" }), tag, ".svg");
  else if (content.t === "refused") chart.say(content.text);
}
