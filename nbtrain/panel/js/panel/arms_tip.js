// The values of the arms of a trial at the cursor of a chart.

import { el } from "../shared/dom.js";
import { number } from "../shared/format.js";
import { cursorOf } from "../shared/plot.js";
import { Tip } from "../shared/tip.js";
import { valuesOfArms } from "./arms.js";
import { colourOfArm } from "./series.js";

/** @import uPlot from "uplot" */
/** @import { Curve } from "../shared/buckets.js" */
/** @import { Paint } from "../shared/theme.js" */
/** @import { Arm } from "./arms.js" */

export class ArmsTip extends Tip {
  /** @param {() => Paint} paint see theme.js */
  constructor(paint) {
    super("arms");
    this.paint = paint;
  }

  /**
   * Lists the arms that reach the cursor, each with its value and that of its validation.
   * @param {uPlot} u
   * @param {Arm[]} arms
   * @param {{curves: Curve[]}[]} lines
   */
  list(u, arms, lines) {
    const x = u.posToVal(cursorOf(u).left, "x");
    const [values, validated = []] = lines.map(({ curves }) => valuesOfArms(arms, curves, x));
    const beside = new Map(validated);
    const rows = values.map(([arm, value]) => {
      const its = beside.get(arm);
      const more = its === undefined ? "" : `  val ${number(its)}`;
      const style = `--colour: ${colourOfArm(arm, this.paint())}`;
      const text = `${arms[arm].name}  ${number(value)}${more}`;
      return el("div", { children: [el("i", { class: "nbt-arm", style }), text] });
    });
    this.show(rows, u);
  }
}
