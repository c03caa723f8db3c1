// What the modules of the page hand one another. What crosses to the kernel is in protocol.d.ts.

import type { BoardConnection } from "./board/board_connection.js";
import type { OverlayChart } from "./board/charts/overlay_chart.js";
import type { RunList } from "./board/run_list.js";
import type { Action, Answer, Axis, Edit, Question } from "./protocol.d.ts";
import type { paints } from "./shared/theme.js";

/** A message's buffer: a view may begin anywhere. */
export type Bytes = ArrayBuffer | ArrayBufferView<ArrayBuffer>;

/** A curve of one tag and one segment: buckets of `stride` steps each. */
export interface Curve {
  tag: string;
  segment: number;
  abandoned: boolean;
  stride: number;
  /** The message that last changed it. */
  seq: number;
  x: number[];
  mean: number[];
  lo: number[];
  hi: number[];
}

/** uPlot's column: null is a gap, and undefined says that there is nothing at this step. */
export type Column = (number | null | undefined)[];

/** What no line can show. */
export type Unseen = "NaN" | "∞" | "−∞" | "≤ 0";

/** A bucket that no line can show; several: whether it holds more than one value. */
export interface UnseenBucket {
  x: number;
  kind: Unseen;
  abandoned: boolean;
  several: boolean;
  run?: string;
}

export interface Bucket {
  x: number;
  mean: number;
  lo: number;
  hi: number;
  kind: Unseen | null;
  abandoned: boolean;
}

/** What was done to a run: see journal.py. */
export interface Mark {
  event: string;
  step: number;
  wall: number;
  text: string;
  edits: Edit[];
  kept?: boolean;
  good?: number;
  /** Where it stands on the axis: where the run went on. */
  place: number;
  /** Whether the run has gone back behind it since, as the kernel tells. */
  abandoned: boolean;
  /** What can be done about it, as the kernel tells. */
  actions: Action[];
}

/** The places of a slider: whole numbers from 0 to last. */
export interface Places {
  last: number;
  valueAt(place: number): number;
  placeOf(value: number): number;
}

/** What a place among the steps means to the reader. */
export interface Choice {
  place: number;
  step: number;
}

export interface Range {
  min: number;
  max: number;
}

/** What the reader of a board has chosen. */
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

/** A cell of a table; null where there is no value. */
export type Value = number | string | boolean | null;

/** What can be chosen of a column. */
export type Domain = { low: number; high: number; values?: undefined } | { values: Value[] };

/** What was chosen of it: null is an open end; without: the values that are not meant. */
export type Filter =
  { low: number | null; high: number | null; without?: undefined } | { without: Set<Value> };

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
  higher: boolean;
  leftOut: number;
  stride: number;
  numbers: Numbers;
  tails: Buckets[];
  margin?: boolean;
}

/** What a line of a chart of several tags is of. */
export interface LineOf {
  tag: string;
  run: string;
}

/** uPlot's options, without what all charts have; its own type asks for tuples everywhere. */
export type PlotOptions = Record<string, any>;

/** How a run's line looks. */
export interface Look {
  colour: string;
  dash: number[];
}

/** What to paint with, as the theme stands. */
export type Paint = ReturnType<typeof paints>;

/** An answer of the kernel; when the kernel has gone, of the kind "lost". */
export interface Reply {
  content: Answer | { t: "lost" };
  buffers: Bytes[];
}

/** A question without what is known of its answer. */
export type Wanted = Question extends infer Q ? (Q extends Q ? Omit<Q, "known"> : never) : never;

/** A board, as its pages know it: see board.js. */
export interface Board {
  connection: BoardConnection;
  runs: RunList;
  options: Options;
  keep(): void;
  forget(): void;
  draw(): void;
  folds(tab: string): { open: Map<string, boolean>; changed: () => void };
  paint(): Paint;
  styleOf(run: string): Look;
  swatch(run: string): SVGElement;
}

/** What a chart of several runs asks of its board. */
export interface ChartBoard {
  options: Options;
  keep(): void;
  paint(): Paint;
  styleOf(run: string): Look;
  swatch(run: string): SVGElement;
  wanted(chart: OverlayChart): unknown;
  csv(chart: OverlayChart): unknown;
}
