// The part of a card that shows a step, and what it knows of its card. Methods of an interface, unlike
// those of a JSDoc type, may take a part of what is declared: a body takes one kind of summary.

import type { Summary } from "../../protocol.d.ts";
import type { Bytes } from "../connection.js";
import type { Paint } from "../theme.js";

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
