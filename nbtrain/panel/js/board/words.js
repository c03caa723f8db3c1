// The messages of a board about its kernel and its files. Uses no DOM.

/** @import { BoardConnection } from "./board_connection.js" */

const MOST = 6; // lines

/**
 * The lines below the tabs.
 * @param {Pick<BoardConnection, "index" | "gone" | "late" | "note" | "titleOf">} connection
 * @param {string | undefined} empty why the tab has nothing to show
 */
export function wordsOf(connection, empty) {
  const { index, gone, late, note } = connection;
  /** @param {string} run */
  const title = (run) => connection.titleOf(run);
  const lines = [];
  if (gone) lines.push(gone);
  else if (late) lines.push("Waiting for the kernel: it is busy.");
  if (note) lines.push(note);
  if (empty) lines.push(`${empty[0].toUpperCase()}${empty.slice(1)}.`);
  for (const [run, size] of index?.damaged ?? [])
    lines.push(
      `${size.toLocaleString("en")} bytes of ${title(run)} are damaged and were skipped. nbtrain.scalars(…, verify=False) reads them if only checksums are wrong.`,
    );
  for (const [run, count] of index?.doubtful ?? [])
    lines.push(
      `${count.toLocaleString("en")} records of ${title(run)} have wrong checksums: their values may be damaged too.`,
    );
  for (const run of index?.gone ?? [])
    lines.push(`The event files of ${title(run)} are gone: the board shows what was read before.`);
  for (const [path, why] of index?.unreadable ?? []) lines.push(`${path} cannot be read: ${why}.`);
  if (lines.length > MOST)
    lines.splice(MOST - 1, lines.length, `And ${lines.length - MOST + 1} more.`);
  return lines;
}
