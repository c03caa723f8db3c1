// The lines of a run's log that have been received, and the way to more. Uses no DOM.

/** @import { Level, LogRow, LogRows, LogSource } from "../protocol.d.ts" */

export const MOST = 10_000; // lines, as many as the kernel keeps
const EACH_MS = 500; // between two questions: what comes meanwhile comes in one answer
const PATIENCE_MS = 3000; // until an answer counts as lost

/** @type {Level[]} */
export const LEVELS = ["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"];
/** @type {LogSource[]} */
export const SOURCES = ["print", "logging", "warning", "tensorflow", "process"];

/** @typedef {{level: Level, source: LogSource | "", text: string}} Filter */

export class LogStore {
  /**
   * ask: called with the number of lines that are here. clock: milliseconds.
   * @param {(have: number) => void} ask
   * @param {() => number} [clock]
   */
  constructor(ask, clock = () => performance.now()) {
    this.ask = ask;
    this.clock = clock;
    /** @type {LogRow[]} */
    this.rows = [];
    this.have = 0; // the number of all lines up to the newest that is here
    this.waits = false; // for an answer
    this.askedAt = -Infinity;
  }

  /**
   * Asks for the lines that are not here, at most twice a second; returns whether there are any.
   * @param {number} count of all lines
   */
  want(count) {
    if (count < this.have) Object.assign(this, { rows: [], have: 0 }); // the log of another start
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
    const known = this.have - first; // rows that are here already
    if (known < 0) this.rows = []; // those between have been dropped
    if (known <= rows.length) {
      this.rows.push(...rows.slice(Math.max(0, known)));
      this.rows.splice(0, this.rows.length - MOST);
      this.have = first + rows.length;
    }
    if (this.have < count) this.askedAt = -Infinity; // there are more: no need to wait
  }
}

/**
 * The rows that a filter lets through.
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
