// The messages between a page and its kernel, both ways. The page is checked against them by
// `npm run types`; what Python sends and takes, by tests/training/panel/test_protocol.py.
//
// JSON has no NaN and no infinities: where a message may hold one, it has its name as a text.
// Buffers travel beside a message; their contents are described where they belong.

// --- the panel of a run -------------------------------------------------------------------

/** From a page to its panel. */
export type ToPanel =
  | Hello
  | There
  | { t: "alive"; seq: number }
  | { t: "log"; have: number }
  | ({ t: "media"; id: number } & MediaQuestion)
  | ({ t: "cmd"; id: string } & Command);

/** From a panel to its pages. */
export type FromPanel =
  | Snapshot
  | Update
  | { t: "here" }
  | Acknowledgement
  | Note
  | LogRows
  | ({ t: "media"; id: number } & MediaAnswer)
  | Still;

/** A view has opened, or has missed a message. */
export interface Hello {
  t: "hello";
}

/** A page that nobody looks at is still open. */
export interface There {
  t: "there";
}

export type Command =
  | { command: "pause" | "resume" | "save" | "stop" | "evaluate" }
  | ({ command: "restore" } & RestoreArguments)
  | ({ command: "set" } & SetArguments)
  | { command: "note"; text: string }
  | { command: "tag"; tags: string[] }
  | {
      command: "try";
      /** A list has each of its values tried, several lists each combination. */
      values: Record<string, number | string | (number | string)[]>;
      steps: number;
      /** null: a trial of several values goes back, and the user chooses. */
      keep_if: string | null;
      /** How often each is tried; 1 if it is left out. */
      repeats?: number;
      /** For a range test: its only value grows from the first to the second. */
      sweep?: [low: number, high: number];
    };

export interface RestoreArguments {
  checkpoint: string | number | null;
  /** A hyperparameter to halve afterwards. */
  halve?: string;
}

export interface SetArguments {
  values: Record<string, number | string>;
}

/** Lines of the log. */
export interface LogRows {
  t: "log";
  /** How many lines come before these. */
  first: number;
  /** How many lines there are, these included. */
  count: number;
  rows: LogRow[];
}

export type LogRow = [wall: number, step: number, level: Level, source: LogSource, text: string];

export type Level = "DEBUG" | "INFO" | "WARNING" | "ERROR" | "CRITICAL";

export type LogSource = "print" | "logging" | "warning" | "tensorflow" | "process";

export type MediaKind = "images" | "text" | "pr_curves" | "histograms" | "audio";

/** at: the index of a value among all of its tag. */
export type MediaQuestion =
  | { about: "tags" }
  | { about: "history"; kind: MediaKind; tag: string; known: string | null }
  | { about: "value"; kind: MediaKind; tag: string; at: number };

export type MediaAnswer =
  | { about: "refused"; text: string }
  | { about: "same" }
  /** more: the number of tags that are not listed. */
  | { about: "tags"; tags: [kind: MediaKind, tag: string, count: number][]; more: number }
  /** count: of all its steps. Buffer: some of them, their wall times, and the indices (float64). */
  | { about: "history"; known: string; count: number }
  | ({ about: "value" } & MediaValue);

/** said: what the writer says about it. */
export type MediaValue = { step: number; said: string } & (
  Images | Sounds | Text | PRCurves | Ridges
);

/** Buffer: recalls, precisions and thresholds (float64). */
// eslint-disable-next-line @typescript-eslint/no-empty-object-type
export interface PRCurves {}

/** The steps of several histograms, and the place of the one that was asked for. */
export interface Ridges {
  steps: number[];
  marked: number;
}

/** How many tags have pictures or media, and how many values. */
export interface MediaExtent {
  tags: number;
  count: number;
}

/** How many lines a log has, how many of them are warnings and errors, and the newest one. */
export interface LogExtent {
  count: number;
  warnings: number;
  errors: number;
  last: string;
}

/**
 * Everything there is. Buffers: the steps of all series (float64); mean, lo, hi (float32); the wall
 * times, in seconds since `origin` (float32); of each bucket with values that are not finite its index
 * and how many are NaN, ∞ and −∞ (uint32).
 */
export interface Snapshot {
  t: "snap";
  seq: number;
  status: Status;
  series: { tag: string; segment: number; stride: number; n: number; abandoned: boolean }[];
  /** Only if there are series. */
  origin?: number;
  /** The places of the series that bring steps and times, unless all do; others have those before. */
  own?: number[];
  marks: MarkRow[];
  /** How many marks there ever were, up to the newest that was sent. */
  marked: number;
  /** The numbers of those that are abandoned, of all there ever were. */
  abandoned: [first: number, end: number][];
  actions: MarkActions[];
}

/** The changes since the message before: buffers as in a snapshot. */
export interface Update {
  t: "pts";
  seq: number;
  status: Partial<Status>;
  series: SeriesUpdate[];
  origin?: number;
  own?: number[];
  marks?: MarkRow[];
  marked?: number;
  abandoned?: [first: number, end: number][];
  /** The ones that have changed. */
  actions?: MarkActions[];
}

/** The actions for the mark with this number among all there ever were, the best first. */
export type MarkActions = [number: number, actions: Action[]];

/** reason: why it cannot be done now; null if it can. */
export type Action =
  | [text: string, command: "restore", arguments_: RestoreArguments, reason: string | null]
  | [text: string, command: "set", arguments_: SetArguments, reason: string | null];

/** The index of a curve, its stride, the bucket from which on it is sent, and how many are sent. */
export type SeriesUpdate =
  | [index: number, stride: number, from: number, n: number]
  | [
      index: number,
      stride: number,
      from: number,
      n: number,
      tag: string,
      segment: number,
      abandoned: boolean,
    ];

export type Phase =
  "created" | "preparing" | "running" | "paused" | "stopping" | "finished" | "stopped" | "failed";

export interface Status {
  name: string;
  engine: string;
  /** null: the kernel itself. */
  trained_by: string | null;
  phase: Phase;
  step: number;
  total: number | null;
  /** From 0 to 1. */
  progress: number | null;
  /**
   * How many epochs are done at some steps, in order; between them every epoch has the same number of
   * steps. Fewer than two: that number is not known.
   */
  epochs: [step: number, epochs: number][];
  /** The numbers of the head line: label and text. */
  line: [label: string, text: string][];
  /** The last value of each tag; an update has those that changed. */
  last: Record<string, string>;
  /** For each tag of a validation the tag in whose chart it is. */
  validations: Record<string, string>;
  /** For each tag whether its best value is the highest (true) or the lowest, if that is known. */
  higher: Record<string, boolean>;
  /** The newest first. */
  checkpoints: Checkpoint[];
  /** The name of the one that a restore goes back to that names none; null if it cannot be done. */
  latest: string | null;
  controls: Controls;
  receipts: Receipt[];
  hyperparameters: [name: string, lowest: number, highest: number, scale: Scale][];
  /** For each hyperparameter, in their order. */
  values: (number | string)[];
  /** The one of the learning rate, whose range can be tested; null if there is none. */
  rate: string | null;
  /** The rates that schedules give now; null for a hyperparameter without one. */
  rates: (string | null)[];
  /** The number of the newest mark of a NaN; null if the run has gone on or back since. */
  open_nan: number | null;
  message: string | null;
  notice: string | null;
  error: string | null;
  failure: string | null;
  /** null: the log has no lines. */
  log: LogExtent | null;
  /** null: there are none. */
  media: MediaExtent | null;
  usage: Usage | null;
  /** null: it trains on no cluster. */
  tasks: TaskTable | null;
  /** The words by which the run can be found again. */
  tags: string[];
  /** null: the run has none. */
  mailbox: MailboxPlace | null;
}

/** The mailbox of a run's folder, which a page may reach without the kernel. */
export interface MailboxPlace {
  /** The run's folder, absolute, also without symbolic links. */
  folders: string[];
  /** The forms of the `~` with which a server's root may begin. */
  homes: string[];
  /** Identifies the start of the run. */
  attempt: string;
}

/** A command in the mailbox: see rundir/mailbox.py. */
export type Letter = { nbtrain: 1; attempt: string; by: string } & Command;

export type Checkpoint = [name: string, step: number, wall: number, abandoned: boolean];

export type Scale = "log" | "linear" | "whole";

/** Which buttons can do something now; `try` and `evaluate` only where the run has them. */
export interface Controls {
  pause: boolean;
  resume: boolean;
  stop: boolean;
  save: boolean;
  restore: boolean;
  set: boolean;
  note: boolean;
  try?: boolean;
  evaluate?: boolean;
}

export interface Receipt {
  /** The number of the click; for another command, the number that its sender gave it, or null. */
  id: string | null;
  command: string;
  /** Unanswered: another process may have done it or not. */
  state: "requested" | "applied" | "refused" | "unanswered";
  text: string;
}

export interface Usage {
  shares: [kind: string, percent: number][];
  beside: string;
  process: string;
}

export interface TaskTable {
  /** Such as "1 ps, 2 workers; worker 1 is lost". */
  summary: string;
  rows: TaskRow[];
  /** The tasks that have no row, in words. */
  more: string | null;
}

export type TaskRow = [name: string, state: string, sign: string, log: string];

/** rank: a sign for several marks has the glyph of the lowest. */
export type MarkRow = [
  event: string,
  step: number,
  wall: number,
  text: string,
  glyph: string,
  rank: number,
  more?: MarkDetails,
];

export interface MarkDetails {
  /** The step that the run went to. */
  to?: number;
  /** At the beginning of an arm of a trial of several values: its turn, from 0, and its name. */
  arm?: [turn: number, name: string];
  /** At the end of such a trial. */
  trial?: TrialTable;
}

export interface TrialTable {
  /** The scalar that was compared. */
  tag: string;
  rows: TrialRow[];
  /** How many more arms there are. */
  more: number;
}

/** spread: null without repeats. */
export type TrialRow = [
  name: string,
  before: string,
  after: string,
  difference: string,
  spread: string | null,
  note: string,
];

/** A click has arrived; a text other than "requested" says why it is refused. */
export interface Acknowledgement {
  t: "ack";
  id: string;
  text: string;
}

/** Something went wrong, in words. */
export interface Note {
  t: "note";
  text: string;
}

/** The picture below the widget, and the words below that, as outputs of the notebook. */
export interface Still {
  t: "still";
  id: string;
  picture: Record<string, string>;
  words: Record<string, string>;
}

// --- the board of a logdir ----------------------------------------------------------------

/** From a page to its board. */
export type ToBoard =
  | Hello
  | There
  | { t: "alive" }
  | { t: "follow"; on: boolean }
  | { t: "options"; text: string }
  | (Question & { id: number });

/** From a board to its pages. */
export type FromBoard = Index | Grew | Note | Still | (Answer & { id: number });

export type Question =
  | ({ t: "want"; known: string | null } & Want)
  | ({ t: "csv" } & Want)
  | { t: "history"; kind: Kind; tag: string; run: string; known?: string | null }
  | { t: "summary"; kind: Kind; tag: string; run: string; at: number }
  | { t: "pr_curves"; tag: string; runs: { run: string; at: number; known: string | null }[] }
  | ({ t: "graph"; known: string | null } & GraphWanted)
  | { t: "node"; run: string; tag: string; of: string; number: number }
  | { t: "find"; run: string; tag: string; text: string }
  | { t: "hparams"; known: string | null }
  | { t: "compare"; runs: string[]; tags: string[] | null; known: string | null }
  | { t: "layout"; known: string | null };

export type Axis = "step" | "relative" | "wall";

export type Kind = "images" | "histograms" | "distributions" | "text" | "audio";

/** A graph with some scopes open. */
export interface GraphWanted {
  run: string;
  tag: string;
  /** The graph that the numbers belong to; null for any. */
  of: string | null;
  /** The numbers of open scopes, in the order in which they were opened; null: as it begins. */
  open: number[] | null;
  /** A node that is seen even in a scope with too many. */
  focus: number | null;
}

/** The curves of a tag. */
export interface Want {
  tag: string;
  /** null: of all runs that have the tag. */
  runs: string[] | null;
  x: Axis;
  log_x: boolean;
  range: [low: number, high: number] | null;
  smooth: number;
}

export interface Progress {
  version: number;
  /** True if the files have not been read to their end yet. */
  reading: boolean;
  /** The part that has been read, from 0 to 1; only while `reading`. */
  progress?: number;
  follow: boolean;
}

/** There are more points, and no other names. */
export interface Grew extends Progress {
  t: "grew";
}

/** Everything there is by name. */
export interface Index extends Progress, Tags {
  t: "index";
  runs: string[];
  /** The fits of a training and its validation; each other run is one by itself. */
  fits: Fit[];
  /** The folders that the names of all fits begin with, with the last slash; "" for one fit. */
  folder: string;
  /** The name of the run ".", whose event files are in the logdir itself. */
  own: string;
  /** The tags of the runs that have some: the words by which they can be found. */
  labels: Record<string, string[]>;
  /** The tags of each kind but the scalars, which are beside it. */
  kinds: Record<string, Tags>;
  tabs: string[];
  /** For a tab without anything to show, why. */
  empty: Record<string, string>;
  begin: { tab: string; x: Axis; smooth: number; kept?: string };
  damaged: [run: string, bytes: number][];
  doubtful: [run: string, records: number][];
  gone: string[];
  unreadable: [path: string, why: string][];
}

/** Runs that are one to the reader, such as the training and the validation of Keras. */
export interface Fit {
  /** The run that names it: the only one, or the training. */
  lead: string;
  name: string;
  /** The training first. */
  runs: string[];
}

/** Tags; of each the index of the set of runs that have it; of each set the indices of its runs. */
export interface Tags {
  tags: string[];
  of: number[];
  sets: number[][];
}

export type Answer =
  | { t: "same" }
  | { t: "refused"; text: string }
  | Curves
  | { t: "file" } // buffer: the file
  | { t: "history"; known: string } // buffer: steps, then wall times (float64)
  | Summary
  | { t: "pr_curves"; runs: PrCurve[] }
  | Graph
  | GraphNode
  | { t: "found"; of: string; found: GraphName[]; more: boolean }
  | Hparams
  | Compare
  | Layout;

/** Buffer: see `curves` in curves.py. */
export interface Curves {
  t: "curves";
  known: string;
  runs: {
    run: string;
    /** Whether the best value is the highest (true) or the lowest; null if that is not known. */
    higher: boolean | null;
    /** How many points have no place on the axis. */
    left_out: number;
    n: number;
    stride: number;
    /** How many buckets have values that are not finite. */
    unseen: number;
    /** The lengths of the abandoned tails. */
    tails: number[];
  }[];
}

export type Summary = { t: "summary"; step: number } & (Images | Sounds | Text | Histograms);

/** A buffer for each sample without a problem. */
export interface Images {
  width: number;
  height: number;
  samples: ({ type: string; scaled: boolean } | { problem: string })[];
  more: number;
}

/** A buffer for each sample without a problem. */
export interface Sounds {
  samples: { label: string; type?: string; seconds?: number | null; problem?: string }[];
  more: number;
}

export interface Text {
  rows: string[][];
  table: boolean;
  note: string;
}

/** The places among the steps that are shown. Buffer: edges and counts, or percentiles. */
export interface Histograms {
  shown: number[];
}

/** The curve of a run at a place among its steps. A buffer for each with `known`: see pr_curves.py. */
export type PrCurve =
  | { run: string; known: string; steps: number; at: number; note: string }
  | { run: string; same: true }
  | { run: string; problem: string };

/** The visible part of a graph: see hierarchy.py. */
export interface Graph {
  t: "graph";
  known: string;
  /** Identifies the graph: numbers of another one are others. */
  of: string;
  open: number[];
  /** A scope comes before what is in it. */
  items: GraphItem[];
  edges: GraphEdge[];
  words: string[];
}

/** rest: the nodes of a scope that has too many. */
export interface GraphItem {
  number: number;
  /** The number of its scope; 0: of none. */
  parent: number;
  label: string;
  kind: "scope" | "node" | "rest";
  op: string;
  /** How many nodes it stands for. */
  count: number;
  open: boolean;
}

/** All edges between two items. */
export interface GraphEdge {
  source: number;
  target: number;
  count: number;
  /** How many control dependencies there are besides. */
  control: number;
  /** For a single edge, if it is known. */
  shape: string;
}

export type GraphNode = { t: "node"; number: number; name: string } & (NodeDetails | ScopeDetails);

export interface NodeDetails {
  op: string;
  device: string;
  attributes: [name: string, text: string][];
  inputs: GraphEnds;
  outputs: GraphEnds;
  /** Inputs that name no node. */
  missing: string[];
  shapes: string[];
  /** Functions of the library. */
  calls: GraphName[];
}

export interface ScopeDetails {
  nodes: number;
  ops: [op: string, count: number][];
  other_ops: number;
  inputs: GraphEnds;
  outputs: GraphEnds;
}

export interface GraphEnds {
  nodes: (GraphName & { control: boolean })[];
  more: number;
}

/** scopes: the numbers of the scopes that it is in, the outermost first. */
export interface GraphName {
  number: number;
  name: string;
  scopes: number[];
}

export type Cell = number | string | boolean | null | { float: "NaN" | "Infinity" | "-Infinity" };

export interface Hparams {
  t: "hparams";
  known: string;
  hparams: string[];
  metrics: string[];
  /** For each metric, as in `Curves`. */
  higher: (boolean | null)[];
  /** The values of the hyperparameters, then those of the metrics. */
  rows: { run: string; status: string; values: Cell[] }[];
  words: string[];
}

/** Buffer: for each tag and each run the numbers of `Extent` (float64). */
export interface Compare {
  t: "compare";
  known: string;
  runs: string[];
  hparams: { name: string; values: Cell[]; same: boolean }[];
  tags: string[];
  /** For each tag, as in `Curves`. */
  higher: (boolean | null)[];
}

export interface Layout {
  t: "layout";
  known: string;
  categories: { title: string; closed: boolean; charts: LayoutChart[] }[];
}

export interface LayoutChart {
  title: string;
  tags: string[];
  /** For a chart of margins, else null. */
  series: { value: string; lower: string; upper: string }[] | null;
  words: string[];
}
