// The texts of commands: on buttons, and while an answer is pending.

/** @type {Record<string, string>} */
export const LABELS = {
  pause: "Pause",
  resume: "Resume",
  save: "Save",
  restore: "Restore",
  stop: "Stop",
  set: "Set",
  evaluate: "Evaluate",
  why_nan: "Find the cause",
  why_slow: "Measure",
  look_inside: "Look inside",
  try: "Try",
  note: "Note",
  tag: "Tags",
};

/** @type {Record<string, string>} */
export const DOING = {
  pause: "Pausing…",
  resume: "Resuming…",
  save: "Saving…",
  restore: "Restoring…",
  stop: "Stopping…",
  set: "Setting…",
  evaluate: "Evaluating…",
  why_nan: "Finding the cause…",
  why_slow: "Measuring…",
  look_inside: "Looking inside…",
  try: "Trying…",
  note: "Noting…",
  tag: "Tagging…",
};

/**
 * Describes how a click reaches a run whose kernel is busy.
 * @param {{command: string, sent: boolean, problem: string}} click
 */
export function onItsWay({ command, sent, problem }) {
  if (sent) return `${LABELS[command]} sent through the run's folder: the kernel is busy`;
  const queued = `${LABELS[command]} queued: the kernel is busy — it runs when the cell ends`;
  return problem ? `${queued}; it could not be sent through the run's folder (${problem})` : queued;
}
