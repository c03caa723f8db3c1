// What can be done about what was done to a run: go back, or set back. Knows no page.

import { isSaved, kind } from "./marks.js";
import { exact } from "./scale.js";
import { clock, place } from "../shared/format.js";

const ENDED = ["finished", "stopped", "failed"];
const RATES = ["learning_rate_factor", "learning_rate"]; // under a factor, the program sets the rate

// What can be done about a mark: [{text, why, command, more, halve}]. why: why it cannot be done
// now, or null; halve: the hyperparameter to be halved when the command has been applied.
export function offers(all, mark, status) {
  const found = [];
  if (mark.edits.length && kind(mark) !== "reverted") found.push(setBack(mark, status));
  const here = isSaved(mark) ? checkpointOf(mark, status) : null;
  if (isSaved(mark) && here === null)
    found.push({ text: `Restore ${place(mark.place, "step")}`, why: gone(mark) });
  const [base, checkpoint] =
    here !== null
      ? [mark, here]
      : mark.event === "nan"
        ? rescuer(all, mark, status)
        : before(all, mark, status);
  if (!base) return found;
  const text = `Restore ${place(base.place, "step")}`;
  const restore = {
    text,
    why: whyNot("restore", status),
    command: "restore",
    more: { checkpoint },
  };
  const rate = RATES.find((name) => status.hyperparameters?.some(([known]) => known === name));
  if (mark.event === "nan" && rate)
    found.push({ ...restore, text: `${text} and halve ${rate}`, halve: rate });
  found.push(restore);
  const edit = mark.event === "nan" && suspect(all, mark, base);
  const [earlier, named] = edit ? rescuer(all, edit, status) : [];
  if (!earlier) return found;
  const behind = {
    ...restore,
    text: `Restore ${place(earlier.place, "step")}, before ${changes(edit)}`,
    more: { checkpoint: named },
  };
  // What was saved so soon after the edit that it went bad later on says little for it.
  return base.place - edit.place < mark.place - base.place
    ? [behind, ...found]
    : [...found, behind];
}

// What can be done about each of some marks: [{mark, offers}]; what several offer, the first does.
export function offersOf(all, marks, status) {
  const said = new Set();
  const isNew = ({ text, more }) => said.size < said.add(JSON.stringify([text, more])).size;
  return marks.map((mark) => ({ mark, offers: offers(all, mark, status).filter(isNew) }));
}

// Half of a value that a restore has brought back: of what it was before, if that was less, which
// is too much as well. A value that is no number is none to halve: null.
export function halved(before, restored) {
  if (typeof restored !== "number") return null;
  return (typeof before === "number" ? Math.min(before, restored) : restored) / 2;
}

const changes = ({ edits }) =>
  edits.map(([name, old, now]) => `${name} ${exact(old)} → ${exact(now)}`).join(", ");

function setBack({ edits }, status) {
  const known = new Set(status.hyperparameters?.map(([name]) => name));
  const missing = edits.find(([name]) => !known.has(name));
  const value = (name) =>
    status.values?.[status.hyperparameters.findIndex(([known]) => known === name)];
  const text = edits.map(([name, old]) => `${name} back to ${exact(old)}`).join(", ");
  const why =
    whyNot("set", status) ??
    (missing
      ? `there is no hyperparameter ${missing[0]}`
      : edits.every(([name, old]) => value(name) === old)
        ? "it is so already"
        : null);
  return {
    text: `Set ${text}`,
    why,
    command: "set",
    more: { values: Object.fromEntries(edits.map(([name, old]) => [name, old])) },
  };
}

function whyNot(command, { controls = {}, phase, silentSince }) {
  if (silentSince) return `no word from the kernel since ${silentSince}`;
  if (controls[command]) return null;
  return ENDED.includes(phase)
    ? "the run has ended: start it again to go on"
    : `the run is ${phase}`;
}

// How a restore names the checkpoint of a mark; null where there is none any more. Of those that
// the kernel does not list, which are older, it will say so itself.
function checkpointOf(mark, { checkpoints = [], unlisted = 0 }) {
  if (mark.anew) return null;
  const there = checkpoints.filter(([, step]) => step === mark.place).map(([name]) => name);
  if (there.length) return there.find((name) => !name.includes("/")) ?? there[0]; // a copy is another state
  return unlisted && !checkpoints.some(([, , wall]) => wall < mark.wall - 1) ? mark.place : null;
}

// The latest step whose checkpoint may be a way out. Of a NaN the run has told it: what has led
// there can be good only if a good loss came of it.
const latestGood = ({ event, place, good }) => (event === "nan" ? (good ?? -Infinity) : place);

// The latest checkpoint that led to a mark, and how it is named.
function before(all, mark, status) {
  let low = latestGood(mark);
  for (let i = all.indexOf(mark) - 1; i >= 0; i--) {
    const other = all[i];
    const named = isSaved(other) && other.place <= low ? checkpointOf(other, status) : null;
    if (named !== null) return [other, named];
    low = Math.min(low, other.place);
  }
  return [null, null];
}

// The latest edit before it went bad, where the last good state came after it: what is finite there
// may be bad already. To lower the rate is no harm; what a trial or a restore has undone is over.
function suspect(all, mark, base) {
  let [low, restored, reverted] = [Infinity, null, false]; // restored: the step, up to where it was saved
  for (const other of all.slice(0, all.indexOf(mark)).reverse()) {
    const [word, at] = [kind(other), other.place];
    if (at < restored || (isSaved(other) && at === restored)) restored = null;
    const isUndone =
      at > low || restored !== null || word === "reverted" || (word === "try" && reverted);
    const lowers = other.edits.every(([name, old, now]) => RATES.includes(name) && now < old); // or none
    if (!isUndone && !lowers) return other.wall < base.wall ? other : null;
    if (word === "reverted" || word === "try") reverted = word === "reverted";
    else if (word === "restore" || at < other.step) restored = at;
    low = Math.min(low, at);
  }
  return null;
}

// The same, where a copy of a good state does as well: the newer of the two.
function rescuer(all, mark, status) {
  const [one, other] = [before(all, mark, status), copyBefore(all, mark, status)];
  return one[0] && (!other[0] || one[0].place >= other[0].place) ? one : other;
}

// The latest copy of a good state that led to a mark, and how it is named: the run may have gone
// back to it since, but not behind it.
function copyBefore(all, mark, { checkpoints = [] }) {
  const backs = all.slice(0, all.indexOf(mark)).filter(({ place, step }) => place < step);
  const led = ([name, step, wall]) =>
    name.includes("/") &&
    step <= latestGood(mark) &&
    wall <= mark.wall &&
    backs.every((back) => back.wall < wall || step <= back.place);
  const [copy] = checkpoints.filter(led).sort((one, other) => other[1] - one[1]);
  return copy ? [{ place: copy[1], wall: copy[2] }, copy[0]] : [null, null];
}

function gone({ anew }) {
  return anew ? `it was saved anew at ${clock(anew.wall)}` : "its checkpoint has been deleted";
}
