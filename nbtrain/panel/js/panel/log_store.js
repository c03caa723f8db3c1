// The received lines of a run's log, and requests for more. Uses no DOM.

/** @import { Level, LogRow, LogRows, LogSource } from "../protocol.d.ts" */

export const MOST = 10_000; // lines, as many as the kernel keeps
const EACH_MS = 500; // between two requests: one answer has all lines of that time
const PATIENCE_MS = 3000; // until an answer counts as lost

/** @type {Level[]} */
export const LEVELS = ["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"];
/** @type {LogSource[]} */
export const SOURCES = ["print", "logging", "warning", "tensorflow", "process"];

/** @typedef {{level: Level, source: LogSource | "", text: string}} Filter */

export class LogStore {
  /**
   * ask: requests lines; called with the number of known lines. clock: returns milliseconds.
   * @param {(have: number) => void} ask
   * @param {() => number} [clock]
   */
  constructor(ask, clock = () => performance.now()) {
    this.ask = ask;
    this.clock = clock;
    /** @type {LogRow[]} */
    this.rows = [];
    this.have = 0; // the number of all lines up to the newest known one
    this.waits = false; // whether an answer is pending
    this.askedAt = -Infinity;
  }

  /**
   * Requests missing lines, at most twice a second; returns whether lines are missing.
   * @param {number} count of all lines
   */
  want(count) {
    if (count < this.have) Object.assign(this, { rows: [], have: 0 }); // the run has started again
    if (count <= this.have) return false;
    const since = this.clock() - this.askedAt;
    if (since >= (this.waits ? PATIENCE_MS : EACH_MS)) {
      this.waits = true;
      this.askedAt = this.clock();
      this.ask(this.have);
    }
    return true;
  }

  /** @param {LogRows} message */
  receive({ first, count, rows }) {
    this.waits = false;
    const known = this.have - first; // how many of the rows are known
    if (known < 0) this.rows = []; // the kernel has dropped lines between
    if (known <= rows.length) {
      this.rows.push(...rows.slice(Math.max(0, known)));
      this.rows.splice(0, this.rows.length - MOST);
      this.have = first + rows.length;
    }
    if (this.have < count) this.askedAt = -Infinity; // ask at once for the rest
  }
}

/**
 * The rows that match a filter.
 * @param {LogRow[]} rows
 * @param {Filter} filter
 */
export function filtered(rows, { level, source, text }) {
  const least = LEVELS.indexOf(level);
  const part = text.toLowerCase();
  if (!least && !source && !part) return rows;
  return rows.filter(
    ([, step, its, from, said]) =>
      LEVELS.indexOf(its) >= least &&
      (!source || source === from) &&
      (!part || said.toLowerCase().includes(part) || String(step) === part),
  );
}
