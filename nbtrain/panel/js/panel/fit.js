// The number of charts that fit into a width and a height, and the height of each. Uses no
// DOM.

export const HEAD = 24; // pixels above a plot
// The height of all charts in a panel of about 600 pixels. A narrow panel has a higher head.
const ROOM = 412;
const ROOM_NARROW = 340;
const GAP = 12; // between two rows
export const APART = 20; // between two columns
const NARROWEST = 340; // of a chart in one of several columns
const LEAST = 104; // of a plot with its strip of marks and its axis
const MOST = 180; // of a plot, unless the user has chosen a height
const MOST_WIDE = 240; // of one that is as wide as the panel

/**
 * The number of columns: the least that needs no further row, so that the rows have similar lengths.
 * @param {number} count
 * @param {number} width of the panel
 */
export function columnsOf(count, width) {
  const most = Math.max(1, Math.floor((width + APART) / (NARROWEST + APART)));
  return Math.ceil(count / Math.ceil(count / most)) || 1;
}

/**
 * The height of all charts together, unless the user has chosen one.
 * @param {number} count
 * @param {number} columns
 */
export const roomOf = (count, columns) => (columns === 1 && count > 1 ? ROOM_NARROW : ROOM);

/**
 * Returns {shown, plot}: the number of charts shown, and the height of a plot.
 * @param {number} count
 * @param {{columns: number, height: number | null, all?: boolean}} how height: the user's choice
 */
export function fitted(count, { columns, height, all = false }) {
  const room = height ?? roomOf(count, columns);
  const fit = Math.max(1, Math.floor((room + GAP) / (HEAD + LEAST + GAP)));
  const rows = Math.max(1, Math.min(fit, Math.ceil(count / columns)));
  const each = Math.floor((room - (rows - 1) * GAP) / rows) - HEAD;
  const most = height !== null ? each : columns === 1 && count === 1 ? MOST_WIDE : MOST;
  return {
    shown: all ? count : Math.min(count, rows * columns),
    plot: Math.max(LEAST, Math.min(most, each)),
  };
}
