// The types that the modules of the page hand one another. Messages to and from the kernel are in
// protocol.d.ts.

import type uPlot from "uplot";

import type { BoardConnection } from "./board/board_connection.js";
import type { BoardChoices } from "./board/choices.js";
import type { Card } from "./board/cards/card.js";
import type { OverlayChart } from "./board/charts/overlay_chart.js";
import type { HparamsFilters } from "./board/table/hparams_filters.js";
import type { RunList } from "./board/run_list.js";
import type {
  Action,
  Answer,
  Axis,
  Fit,
  GraphEdge,
  GraphItem,
  Hparams,
  Index,
  MarkDetails,
  MediaAnswer,
  Question,
  Summary,
  TrialTable,
} from "./protocol.d.ts";
import type { paints } from "./shared/theme.js";

/** A message's buffer: a view may begin anywhere. */
export type Bytes = ArrayBuffer | ArrayBufferView<ArrayBuffer>;

/** The data of a notebook's output, by MIME type. */
export type MimeBundle = Record<string, any>;

/** anywidget's model of a widget; its manager is JupyterLab's, and unlike elsewhere. */
export interface Model {
  on(name: string, act: (content: any, buffers: Bytes[]) => void): void;
  off(name: string, act: (content: any, buffers: Bytes[]) => void): void;
  send(message: object): void;
  widget_manager?: {
    context?: {
      model?: { cells?: Iterable<{ outputs?: Outputs }> };
      sessionContext?: { statusChanged?: Signal<string> };
    };
  };
}

/** The outputs of a cell of JupyterLab's. */
interface Outputs {
  length: number;
  get(i: number): { data: MimeBundle; toJSON(): object };
  set(i: number, output: object): void;
}

/** A signal of JupyterLab's. */
interface Signal<T> {
  connect(slot: (sender: unknown, told: T) => void): void;
  disconnect(slot: (sender: unknown, told: T) => void): void;
}

/** A view of a widget: there is one for each output. */
export interface View {
  changed(): void;
  close(): void;
}

/** A curve of one tag and one segment: buckets of `stride` steps each. */
export interface Curve {
  tag: string;
  segment: number;
  abandoned: boolean;
  stride: number;
  /** The message that last changed it. */
  seq: number;
  /** The steps of the first points; along.js has them on another axis. */
  x: number[];
  /** The steps, where `x` are places on an axis. */
  steps?: number[];
  /** The times of the first points, in seconds since the epoch. */
  wall: number[];
  /** The mean of the finite values of each bucket; NaN if it has none. */
  mean: number[];
  lo: number[];
  hi: number[];
  unseen: UnseenCounts[];
}

/** How many values of a bucket are NaN, ∞ and −∞; null if all are finite. */
export type UnseenCounts = [nan: number, above: number, below: number] | null;

/** The horizontal axis of a panel's charts: "epoch" counts the epochs that are done. */
export type ChartAxis = Axis | "epoch";

/** uPlot's column: null is a gap, and undefined says that there is nothing at this step. */
export type Column = (number | null | undefined)[];

/** Values that no line can show. */
export type Unseen = "NaN" | "∞" | "−∞" | "≤ 0";

/** Values of one kind in a bucket; count: undefined if that is not known. */
export interface UnseenKind {
  kind: Unseen;
  count: number | undefined;
}

/** Those of a bucket at a place. */
export interface UnseenBucket extends UnseenKind {
  x: number;
  abandoned: boolean;
  run?: string;
}

export interface Bucket {
  /** Its place on the axis. */
  x: number;
  step: number;
  wall: number;
  /** The mean of its finite values; NaN, ∞ or −∞ if there are none. */
  mean: number;
  lo: number;
  hi: number;
  /** The kinds of the other values in it. */
  also: Unseen[];
  abandoned: boolean;
  /** The smoothed value, if it is shown. */
  smooth?: number;
}

/** An entry of a run's history: see journal.py. */
export interface Mark {
  /** Counted over all marks there ever were. */
  number: number;
  event: string;
  step: number;
  wall: number;
  text: string;
  glyph: string;
  /** A sign for several marks has the glyph of the lowest. */
  rank: number;
  arm?: MarkDetails["arm"];
  trial?: TrialTable;
  /** The step at which the run went on. */
  place: number;
  /** True if the run has gone back behind it since, as the kernel tells. */
  abandoned: boolean;
  /** The actions that help, as the kernel tells. */
  actions: Action[];
}

export type PlacedMark = Mark & {
  /** Its place on the axis. */
  at: number;
};

/** Marks that are drawn as one: where, from where to where they lie, and how many it says. */
export interface Group<Item> {
  left: number;
  first: number;
  last: number;
  number: number;
  marks: Item[];
}

/** A line of a chart of the panel. */
export interface TagLine {
  tag: string;
  /** All tags of the line: a validation may have several, such as that of each epoch. */
  tags: string[];
  /** True for a validation. */
  validates: boolean;
}

/** A setting that the newest trial of several values compares, and the times of its training. */
export interface Arm {
  name: string;
  from: number;
  until: number;
}

/** The places of a slider: whole numbers from 0 to last. */
export interface Places {
  last: number;
  valueAt(place: number): number;
  placeOf(value: number): number;
}

/** The meaning of a place among the steps for the reader. */
export interface Choice {
  place: number;
  step: number;
}

export interface Range {
  min: number;
  max: number;
}

/** The choices of a board's reader. */
export interface Options {
  tab: string;
  x: Axis;
  smooth: number;
  logX: boolean;
  /** The filters. */
  tags: string;
  runs: string;
  /** Runs that are not drawn. */
  off: Set<string>;
  /** By tag. */
  zooms: Map<string, Range>;
  /** Tags whose values have a logarithmic scale. */
  logs: Set<string>;
  /** By tab: which groups are open. */
  open: Map<string, Map<string, boolean>>;
}

/** The same as JSON has it. */
export type Kept = { [name in keyof Options]: Listed<Options[name]> };

type Listed<T> =
  T extends Set<infer Item>
    ? Item[]
    : T extends Map<infer Key, infer Item>
      ? [Key, Listed<Item>][]
      : T;

/** A cell of a table; null where there is no value. */
export type Value = number | string | boolean | null;

/** The values of a column that can be chosen. */
export type Domain = { low: number; high: number } | { values: Value[] };

/** The choice in a column: null is an open end; without: the values that are not meant. */
export type Filter = { low: number | null; high: number | null } | { without: Set<Value> };

export interface Numbers {
  last: number;
  lastStep: number;
  min: number;
  minStep: number;
  max: number;
  maxStep: number;
  points: number;
}

export interface Buckets {
  x: number[];
  mean: number[];
  lo: number[];
  hi: number[];
  smooth: number[];
}

/** A run in a chart of several. */
export interface RunCurve extends Buckets {
  run: string;
  higher: boolean | null;
  leftOut: number;
  stride: number;
  numbers: Numbers;
  unseen: UnseenCounts[];
  tails: Buckets[];
  margin?: boolean;
}

/** A line of a chart of several runs: of a band an edge, and of a smoothed line the raw one. */
export interface ChartLine {
  kind: "tail" | "hi" | "lo" | "raw" | "line";
  run: string;
}

/** The tag and the run of a line in a chart of several tags. */
export interface LineOf {
  tag: string;
  run: string;
}

/** uPlot's options, without what all charts have. */
export type PlotOptions = Omit<uPlot.Options, "width" | "height" | "legend">;

/** uPlot's columns. */
export type Columns = [number[] | Float64Array, ...Column[]];

/** A precision-recall curve: a number for each threshold. */
export interface PrRows {
  threshold: number[];
  truePositives: number[];
  falsePositives: number[];
  trueNegatives: number[];
  falseNegatives: number[];
  precision: number[];
  recall: number[];
}

/** A run in a chart of precision-recall curves. */
export interface PrLine {
  steps: number[];
  walls: number[];
  chosen: Choice | null;
  /** The version of the board when it was told, and the place among the steps that is shown. */
  version: number | undefined;
  shown: number | undefined;
  known: string | null;
  rows: PrRows | null;
  note: string;
  root: HTMLElement;
  parts: { range: HTMLInputElement; told: HTMLElement; note: HTMLElement };
}

/** A place in a picture, in its own pixels. */
export interface Point {
  x: number;
  y: number;
}

/** A place in a picture: its middle and its size. */
export interface Box extends Point {
  width: number;
  height: number;
}

/** A graph that is laid out. */
export interface GraphLayout {
  width: number;
  height: number;
  boxes: Map<number, Box>;
  edges: (GraphEdge & { text: string; points: Point[]; at: Point | null })[];
}

/** A part of an edge, between two items of a scope, or an item and an end of the scope. */
export interface Leg {
  scope: number;
  from: number | "in";
  to: number | "out";
}

/** An open scope: what is in it, and the edges within it by their ends. */
export interface Level {
  items: GraphItem[];
  roads: Map<string, { from: Leg["from"]; to: Leg["to"]; edges: GraphEdge[] }>;
}

/** The view of a picture: where its origin is, and how large it is. */
export interface Sight extends Point {
  scale: number;
}

/** The open scopes of a graph. */
export interface GraphState {
  of: string | null;
  open: number[] | null;
  focus: number | null;
  selected: number | null;
}

/** The look of a run's line. */
export interface Look {
  colour: string;
  dash: number[];
  /** Opacity from 0 to 1. */
  alpha?: number;
}

/** The colours and the font to paint with, as the theme stands. */
export type Paint = ReturnType<typeof paints>;

/** An answer of the kernel; when the kernel has gone, of the kind "lost". */
export interface Reply {
  content: Answer | { t: "lost" };
  buffers: Bytes[];
}

/** A question without what is known of its answer. */
export type Wanted = Question extends infer Q
  ? Q extends { known: unknown }
    ? Omit<Q, "known">
    : never
  : never;

/** Everything there is by name, and how far the reading is. */
export type Contents = Omit<Index, "t">;

/** Tells of a run or a tag by its name whether it is meant. */
export type Chosen = (name: string) => boolean;

/** A page of a board. */
export interface Page {
  root: HTMLElement;
  /** Its own controls. */
  tools?: HTMLElement;
  /**
   * Draw what there is of the runs `chosen(run)`, of the tags `fits(tag)`. Called whenever one of the
   * three may have changed while the page is in front; returns its count in words.
   */
  show(index: Contents, chosen: Chosen, fits: Chosen): string;
  /** Let the runs of a fit stand out, by its leader; null ends that. */
  point(run: string | null): void;
  /** The colours have changed, also of a page that is not in front. */
  retheme(): void;
  /** The axis of the curves is another. */
  forget?(): void;
  close(): void;
}

/** The part of a step that a card shows. */
export interface Body<Content> {
  root: HTMLElement;
  /** Fill it, also when it is full; at: the place among the steps. */
  show(content: Extract<Summary, Content>, buffers: Bytes[], at: number): void | Promise<void>;
  /** Empty it. */
  clear(): void;
  /** The option of its page is another. */
  choose?(): void;
  /** There is more room or less, or the colours are others. */
  resize?(): void;
  /** Why there is nothing to see, if so. */
  lack?: string;
}

/** An answer about pictures and media. */
export interface MediaReply {
  content: MediaAnswer;
  buffers: Bytes[];
}

/** The part of a card that its body knows. */
export interface BodyCard {
  tag: string;
  run: string;
  /** The name of the run in a sentence. */
  runTitle: string;
  steps: number[];
  /** The place among the steps that is shown. */
  at: number;
  page: { option?: boolean };
  board: { styleOf(run: string): { colour: string }; paint(): Paint };
  /** Shows the step at another place. */
  move(at: number): void;
}

/** The class of a kind of body. */
export interface BodyKind {
  new (card: Card): Body<Summary>;
  /** True if it shows all steps at once and needs no slider. */
  several?: boolean;
  option?: { text: string; title: string };
}

/** Runs side by side; of each fit in its place. */
export interface Comparison {
  fits: Fit[];
  hparams: { name: string; values: Value[]; same: boolean }[];
  scalars: { tag: string; higher: boolean | null; validates: boolean; numbers: Numbers[] }[];
}

export interface ComparisonOptions {
  /** The leader of the fit from which the others are told to differ. */
  base: string | null;
  /** True if hyperparameters that do not differ are shown as well. */
  same: boolean;
  /** True if the lowest, the highest and the best step are shown as well. */
  extent: boolean;
}

/** A row of the hyperparameters, its values decoded. */
export type HparamsRow = Omit<Hparams["rows"][number], "values"> & { values: Value[] };

/** The axis of a hyperparameter or a metric: see value_axis.js. */
export interface ValueAxis {
  scale: "linear" | "log" | "values";
  /** True if a logarithmic scale is possible. */
  canLog: boolean;
  /** The ends of an axis of numbers. */
  low: number;
  high: number;
  /** The values of an axis of anything else, each with its number. */
  places: Map<Value, number>;
  /** True if a row has no value. */
  lacks: boolean;
  /** The numbers in their order, if they are few. */
  few: number[];
}

/** A hyperparameter or a metric, with the values of all rows. */
export type HparamsColumn = TableColumn<HparamsRow> & { values: Value[] };

/** The contents of the views of the hyperparameters. */
export interface HparamsShown {
  /** The columns that are not hidden. */
  columns: HparamsColumn[];
  /** The rows of the runs that are meant; those that no filter of a value leaves out. */
  rows: HparamsRow[];
  chosen: HparamsRow[];
  /** The run whose row is marked. */
  marked: string | null;
}

/** The part of the page that the views of the hyperparameters use. */
export interface HparamsHost {
  board: Board;
  filters: HparamsFilters;
  /** Mark a run, or none. */
  mark(run: string | null): void;
  /** The runs of a row: see sessions.js. */
  runsOf(row: HparamsRow): string[];
  check(rows: HparamsRow[], on: boolean): void;
}

/** A view of the hyperparameters. */
export interface HparamsView {
  root: HTMLElement;
  show(shown: HparamsShown): void;
  /** Let a run stand out; null ends that. */
  point?(row: HparamsRow | null): void;
  close(): void;
}

/** A column of a table. */
export interface TableColumn<Row> {
  id: string;
  text: string;
  /** The heading that several columns have in common. */
  group: string;
  numeric?: boolean;
  /** The classes of its cells: see sort_table.js. */
  look?: string;
  /** True if the highest values come first. */
  down?: boolean;
  valueOf(row: Row): Value;
  textOf?(value: Value): string;
  /** Makes a cell that is more than its value. */
  nodesOf?(row: Row): Node[];
}

/** A board, as its pages know it: see board.js. */
export interface Board {
  connection: BoardConnection;
  runs: RunList;
  options: Options;
  choices: BoardChoices;
  keep(): void;
  forget(): void;
  draw(): void;
  folds(tab: string): { open: Map<string, boolean>; changed: () => void };
  paint(): Paint;
  styleOf(run: string): Look;
  swatch(...runs: string[]): SVGElement;
  /** The run that names the fit of a run. */
  leaderOf(run: string): string;
  /** The name of a run as it is shown. */
  nameOf(run: string): string;
}

/** The part of the board that a chart of several runs uses. */
export interface ChartBoard {
  options: Options;
  keep(): void;
  paint(): Paint;
  styleOf(run: string): Look;
  swatch(...runs: string[]): SVGElement;
  /** The run that names the fit of a run. */
  leaderOf(run: string): string;
  /** The name of a run as it is shown. */
  nameOf(run: string): string;
  /** Pin a tag, or do not any more; missing where charts have a place of their own. */
  pin?(tag: string): void;
  wanted(chart: OverlayChart): unknown;
  csv(chart: OverlayChart): unknown;
}
