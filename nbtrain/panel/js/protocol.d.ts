// The messages between a page and its kernel, both ways. The page is checked against them by
// `npm run types`; what Python sends and takes, by tests/training/panel/test_protocol.py.
//
// JSON has neither NaN nor infinities; a message has their names as texts.
// Binary buffers accompany a message; they are described with its type.

// --- the panel of a run -------------------------------------------------------------------

/** From a page to its panel. */
export type ToPanel =
  | Hello
  | There
  | { t: "alive"; seq: number }
  | Pull
  | { t: "log"; have: number }
  | ({ t: "media"; id: number } & MediaQuestion)
  | ({ t: "cmd"; id: string } & Command);

/** From a panel to its pages. */
export type FromPanel =
  | Snapshot
  | Update
  | Here
  | Acknowledgement
  | Note
  | LogRows
  | ({ t: "media"; id: number } & MediaAnswer)
  | Still;

/** A view has opened, or has missed a message. */
export interface Hello {
  t: "hello";
}

/** A hidden page is still open. */
export interface There {
  t: "there";
}

/** Nothing was received for a while. seq: that of the last message. */
export interface Pull {
  t: "pull";
  seq: number;
}

/** pulled: the answer to a pull; else the kernel has sent it by itself. */
export interface News {
  pulled?: true;
}

/** There is nothing new. */
export interface Here extends News {
  t: "here";
}

export type Command =
  | { command: "pause" | "resume" | "save" | "stop" | "evaluate" }
  | { command: "why_nan" | "look_inside" }
  | { command: "why_slow"; steps?: number }
  | ({ command: "restore" } & RestoreArguments)
  | ({ command: "set" } & SetArguments)
  | { command: "note"; text: string }
  | { command: "tag"; tags: string[] }
  | {
      command: "try";
      /** Each value of a list is tried; of several lists, each combination. */
      values: Record<string, number | string | (number | string)[]>;
      steps: number;
      /** null: a trial of several values restores the start, and the user chooses. */
      keep_if: string | null;
      /** The number of times that each is tried; 1 by default. */
      repeats?: number;
      /** For a range test: the limits between which the only value grows. */
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
  /** The number of lines before these. */
  first: number;
  /** The number of all lines, including these. */
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
  /** count: the number of all steps. Buffer: some of the steps, their wall times and indices (float64). */
  | { about: "history"; known: string; count: number }
  | ({ about: "value" } & MediaValue);

/** said: the description by the writer. */
export type MediaValue = { step: number; said: string } & (
  Images | Sounds | Text | PRCurves | Ridges
);

/** Buffer: recalls, precisions and thresholds (float64). */
// eslint-disable-next-line @typescript-eslint/no-empty-object-type
export interface PRCurves {}

/** The steps of several histograms, and the place of the requested one. */
export interface Ridges {
  steps: number[];
  marked: number;
}

/** The numbers of tags with pictures or media, and of their values. */
export interface MediaExtent {
  tags: number;
  count: number;
}

/** The numbers of lines, warnings and errors in the log, and its newest line. */
export interface LogExtent {
  count: number;
  warnings: number;
  errors: number;
  last: string;
}

/**
 * The whole state. Buffers: the steps of all series (float64); mean, lo, hi (float32); the wall
 * times, in seconds since `origin` (float32); of each bucket with values that are not finite its index
 * and the numbers of NaN, ∞ and −∞ (uint32).
 */
export interface Snapshot extends News {
  t: "snap";
  seq: number;
  status: Status;
  series: { tag: string; segment: number; stride: number; n: number; abandoned: boolean }[];
  /** Present if there are series. */
  origin?: number;
  /** The places of the series with steps and times of their own; others share the preceding ones. */
  own?: number[];
  marks: MarkRow[];
  /** The number of all marks of the run, up to the newest sent one. */
  marked: number;
  /** The ranges of the numbers of abandoned marks. */
  abandoned: [first: number, end: number][];
  actions: MarkActions[];
}

/** The changes since the preceding message. Buffers as in a snapshot. */
export interface Update extends News {
  t: "pts";
  seq: number;
  status: Partial<Status>;
  series: SeriesUpdate[];
  origin?: number;
  own?: number[];
  marks?: MarkRow[];
  marked?: number;
  abandoned?: [first: number, end: number][];
  /** The actions that have changed. */
  actions?: MarkActions[];
}

/** The actions for the mark with this number, the best first. */
export type MarkActions = [number: number, actions: Action[]];

/** reason: why the action is not possible now; null if it is. */
export type Action =
  | [text: string, command: "restore", arguments_: RestoreArguments, reason: string | null]
  | [text: string, command: "set", arguments_: SetArguments, reason: string | null]
  | [text: string, command: "why_nan", arguments_: Record<string, never>, reason: string | null];

/** The index of a curve, its stride, the first sent bucket, and the number of sent buckets. */
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
   * The number of completed epochs at some steps, in order; between two of them all epochs have equal
   * length. Fewer than two: the length is unknown.
   */
  epochs: [step: number, epochs: number][];
  /** The numbers of the head line: label and text. */
  line: [label: string, text: string][];
  /** The last value of each tag; an update has the changed ones. */
  last: Record<string, string>;
  /** For each tag of a validation, the tag of its chart. */
  validations: Record<string, string>;
  /** For each tag whose direction is known, whether its best value is the highest. */
  higher: Record<string, boolean>;
  /** The newest first. */
  checkpoints: Checkpoint[];
  /** The checkpoint of a restore that names none; null if there is none. */
  latest: string | null;
  controls: Controls;
  receipts: Receipt[];
  hyperparameters: [name: string, lowest: number, highest: number, scale: Scale][];
  /** The value of each hyperparameter, in their order. */
  values: (number | string)[];
  /** The hyperparameter of the learning rate, for a range test; null if there is none. */
  rate: string | null;
  /** The current rates of schedules; null for a hyperparameter without a schedule. */
  rates: (string | null)[];
  /** The number of the newest mark of a NaN; null once the run has continued or been restored. */
  open_nan: number | null;
  message: string | null;
  notice: string | null;
  error: string | null;
  failure: string | null;
  /** null: the log has no lines. */
  log: LogExtent | null;
  /** null: nothing is recorded. */
  media: MediaExtent | null;
  usage: Usage | null;
  /** null: the run has no cluster. */
  tasks: TaskTable | null;
  /** The tags of the run, by which lists are filtered. */
  tags: string[];
  /** null: the run was given no config, and knows none by itself. */
  config: ConfigTable | null;
  /** null: the run has no mailbox. */
  mailbox: MailboxPlace | null;
}

/** The settings that a run is made with; more: the number of entries that are not shown. */
export interface ConfigTable {
  entries: [name: string, value: string][];
  more: number;
}

/** The mailbox of a run's folder, which a page can reach without the kernel. */
export interface MailboxPlace {
  /** The absolute paths of the run's folder, with and without symbolic links. */
  folders: string[];
  /** The paths that `~` may stand for in a server's root. */
  homes: string[];
  /** The path from the root of the server that has started the kernel; null: there is none. */
  path: string[] | null;
  /** Identifies the start of the run. */
  attempt: string;
}

/** A command in the mailbox: see rundir/mailbox.py. */
export type Letter = { nbtrain: 1; attempt: string; by: string } & Command;

export type Checkpoint = [name: string, step: number, wall: number, abandoned: boolean];

export type Scale = "log" | "linear" | "whole";

/** Whether each command is possible now; `try` and `evaluate` are present if the run has them. */
export interface Controls {
  pause: boolean;
  resume: boolean;
  stop: boolean;
  save: boolean;
  restore: boolean;
  set: boolean;
  why_slow: boolean;
  look_inside: boolean;
  note: boolean;
  try?: boolean;
  evaluate?: boolean;
}

export interface Receipt {
  /** The id of the click; for other commands, the id given by the sender, or null. */
  id: string | null;
  command: string;
  /** Unanswered: another process may or may not have executed it. */
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
  /** The number of tasks without a row, in words. */
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
  /** The step from which the run continued. */
  to?: number;
  /** At the start of an arm of a trial of several values: its number, from 0, and its name. */
  arm?: [turn: number, name: string];
  /** At the end of a trial of several values. */
  trial?: TrialTable;
}

export interface TrialTable {
  /** The scalar that was compared. */
  tag: string;
  rows: TrialRow[];
  /** The number of the row from which the run continues; null if none was kept. */
  kept: number | null;
  /** The number of arms without a row. */
  more: number;
}

/** spread: null without repeats; note: "kept", or why there is no value. */
export type TrialRow = [
  name: string,
  before: string,
  after: string,
  difference: string,
  spread: string | null,
  note: string,
];

/** The receipt of a click; a text other than "requested" is the reason of a refusal. */
export interface Acknowledgement {
  t: "ack";
  id: string;
  text: string;
}

/** An error, in words. */
export interface Note {
  t: "note";
  text: string;
}

/** The picture and the words below the widget, as outputs of the notebook. */
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
  | { t: "alive"; version: number | null }
  | { t: "follow"; on: boolean }
  | { t: "options"; text: string }
  | (Question & { id: number });

/** From a board to its pages. */
export type FromBoard = Index | Grew | Note | Still | (Answer & { id: number });

export type Question =
  | ({ t: "want"; known: string | null } & Want)
  | ({ t: "csv" } & Want)
  | ({ t: "svg" } & Want & ChartLook)
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
  /** The graph that the numbers refer to; null for any. */
  of: string | null;
  /** The numbers of open scopes, in the order of opening; null: the initial ones. */
  open: number[] | null;
  /** A node that is shown even in a scope with too many nodes. */
  focus: number | null;
}

/** The curves of a tag. */
export interface Want {
  tag: string;
  /** null: all runs that have the tag. */
  runs: string[] | null;
  x: Axis;
  log_x: boolean;
  range: [low: number, high: number] | null;
  smooth: number;
}

/** A chart as the page shows it. */
export interface ChartLook {
  lines: DrawnLine[];
  log: boolean;
  outliers: boolean;
}

/** A line of a chart; see panel/board/picture.py. */
export interface DrawnLine {
  run: string;
  tag: string;
  name: string;
  look: number | null;
  dash: number | null;
  validates: boolean;
  bounds: [lower: string, upper: string] | null;
}

export interface Progress {
  version: number;
  /** Whether the files have not been read to their end yet. */
  reading: boolean;
  /** The part that has been read, from 0 to 1; only while `reading`. */
  progress?: number;
  follow: boolean;
}

/** There are more points, but no new names. */
export interface Grew extends Progress {
  t: "grew";
}

/** The names of all data. */
export interface Index extends Progress, Tags {
  t: "index";
  runs: string[];
  /** The numbers of the runs' looks, equal for the runs of a fit: see colours.py. */
  looks: number[];
  /** The fits with a training and a validation; every other run is a fit by itself. */
  fits: Fit[];
  /** The common folder of all fits, with the last slash; "" for one fit. */
  folder: string;
  /** The name of the run ".", whose event files are in the logdir itself. */
  own: string;
  /** The tags of the runs that have any, by which the list is filtered. */
  labels: Record<string, string[]>;
  /** The tags of each kind except scalars, whose tags are those of the index itself. */
  kinds: Record<string, Tags>;
  tabs: string[];
  /** For each tab without contents, the reason. */
  empty: Record<string, string>;
  begin: { tab: string; x: Axis; smooth: number; kept?: string };
  damaged: [run: string, bytes: number][];
  doubtful: [run: string, records: number][];
  gone: string[];
  unreadable: [path: string, why: string][];
}

/** Runs shown as one, such as the training and the validation of Keras. */
export interface Fit {
  /** The run that leads it: the only one, or the training. */
  lead: string;
  name: string;
  /** The training first. */
  runs: string[];
}

/** Tags, the index of each tag's set of runs, and the indices of the runs of each set. */
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
    /** Whether the best value is the highest; null if unknown. */
    higher: boolean | null;
    /** The number of points without a place on the axis. */
    left_out: number;
    n: number;
    stride: number;
    /** The number of buckets with values that are not finite. */
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

/** The places of the shown steps. Buffer: edges and counts, or percentiles. */
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
  /** Identifies the graph that the numbers refer to. */
  of: string;
  open: number[];
  /** A scope comes before its contents. */
  items: GraphItem[];
  edges: GraphEdge[];
  words: string[];
}

/** rest: the further nodes of a scope with too many. */
export interface GraphItem {
  number: number;
  /** The number of its scope; 0 for the graph. */
  parent: number;
  label: string;
  kind: "scope" | "node" | "rest";
  op: string;
  /** The number of nodes that it stands for. */
  count: number;
  open: boolean;
}

/** All edges between two items. */
export interface GraphEdge {
  source: number;
  target: number;
  count: number;
  /** The number of control dependencies, which `count` excludes. */
  control: number;
  /** The shape of a single edge, if known. */
  shape: string;
}

export type GraphNode = { t: "node"; number: number; name: string } & (NodeDetails | ScopeDetails);

export interface NodeDetails {
  op: string;
  device: string;
  attributes: [name: string, text: string][];
  inputs: GraphEnds;
  outputs: GraphEnds;
  /** Inputs whose node does not exist. */
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

/** scopes: the numbers of the scopes that contain the node, the outermost first. */
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
  /**
   * about: with the last note alone, null for a run without a journal; values: of the hyperparameters,
   * then of the metrics.
   */
  rows: { run: string; status: string; about: RunAbout | null; values: Cell[] }[];
  words: string[];
}

/** What is known of a run; secs: of its training; notes: the oldest first. */
export interface RunAbout {
  secs: number;
  tags: string[];
  notes: string[];
}

/** Buffer: for each tag and each run the numbers of `Extent` (float64). */
export interface Compare {
  t: "compare";
  known: string;
  runs: string[];
  about: RunAbout[];
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
  /** The series of a margin chart; null for others. */
  series: { value: string; lower: string; upper: string }[] | null;
  words: string[];
}
