import assert from "node:assert/strict";
import { test } from "node:test";

// An element that no page shows: it has no room for a plot.
class Element {
  clientWidth = 0;
  dataset = {};
  setAttribute() {}
  addEventListener() {}
  append() {}
}

globalThis.document = { createElement: () => new Element() };
const { HistogramBody } = await import("../../../nbtrain/panel/js/shared/cards/histogram_body.js");

const body = () =>
  new HistogramBody({ tag: "w", run: "a", steps: [0, 10], page: { option: true } });
const numbers = Float64Array.from([0, 1, 2, 3, 4, 5, 6]); // the edges of two bins, and the counts

test("the page's option is taken before the histograms have come", () => {
  const early = body();
  early.choose();
  early.show({ shown: [0, 1] }, [numbers.buffer], 1);
  assert.equal(early.overlay, true);
});

test("the histogram of the slider's step is drawn last", () => {
  const shown = body();
  shown.show({ shown: [0, 1] }, [numbers.buffer], 0);
  assert.deepEqual(shown.order, [1, 0]);
});

test("a histogram of no finite values is told, as it is drawn like one of few", () => {
  const shown = body();
  const none = Float64Array.from([0, 1, 2, 0, 0, 5, 6]);
  shown.show({ shown: [0, 1] }, [none.buffer], 0);
  assert.equal(shown.lack, "No finite values at this step.");
  shown.show({ shown: [0, 1] }, [none.buffer], 1);
  assert.equal(shown.lack, "");
});
