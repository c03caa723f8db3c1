// The part of a card that shows a step, and the part of the card that it uses. Methods of an interface,
// unlike those of a JSDoc type, may accept only a part of the declared type: one kind of summary.

import type { Summary } from "../../protocol.d.ts";
import type { Bytes } from "../connection.js";
import type { Paint } from "../theme.js";

export interface Body<Content> {
  root: HTMLElement;
  /** Shows a step in the place of the one before; at: the place among the steps. */
  show(content: Extract<Summary, Content>, buffers: Bytes[], at: number): void | Promise<void>;
  /** Removes the contents. */
  clear(): void;
  /** Called when the option of its page has changed. */
  choose?(): void;
  /** Called when the room or the colours have changed. */
  resize?(): void;
  /** The reason if there is nothing to show. */
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
