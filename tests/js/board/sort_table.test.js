import assert from "node:assert/strict";
import { test } from "node:test";

// An element that keeps its class and what stands in it.
class Element {
  attributes = {};
  children = [];

  setAttribute(name, value) {
    this.attributes[name] = value;
  }

  append(...children) {
    this.children.push(...children);
  }

  replaceChildren(...children) {
    this.children = children;
  }

  addEventListener() {}
}

globalThis.document = { createElement: () => new Element() };
globalThis.IntersectionObserver = class {
  observe() {}
};
const { SortTable } = await import("../../../nbtrain/panel/js/board/table/sort_table.js");

const column = (numeric) => ({
  id: "rate",
  text: "rate",
  group: "",
  numeric,
  valueOf: ({ rate }) => rate,
});

test("a heading stands as its cells do, also when a column of numbers gets a text", () => {
  const table = new SortTable("runs");
  table.show([column(true)], [{ rate: 0.1 }]);
  table.show([column(false)], [{ rate: 0.1 }, { rate: "slow" }]);
  const [heading] = table.heads;
  const [cell] = table.body.children[0].children;
  assert.equal(cell.attributes.class, "");
  assert.equal(heading.attributes.class, "");
});
