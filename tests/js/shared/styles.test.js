import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";

const FOLDER = "nbtrain/panel/js";

const classesIn = (text) => new Set(text.match(/nbt-[a-z-]+/g));

/** The texts of the files below a folder that have this ending. */
function textsOf(folder, ending) {
  const names = readdirSync(`${FOLDER}/${folder}`, { recursive: true });
  return names
    .filter((name) => name.endsWith(ending))
    .map((name) => readFileSync(`${FOLDER}/${folder}/${name}`, "utf8"));
}

/** The classes that the elements of a panel, or of a board, may have. */
function classesOf(folder) {
  return classesIn([folder, "shared"].flatMap((each) => textsOf(each, ".js")).join());
}

/** The selectors of the style sheets of a folder. */
function selectorsOf(folder) {
  const plain = textsOf(folder, ".css")
    .join("\n")
    .replace(/\/\*.*?\*\//gs, "")
    .replace(/:nth-[a-z-]+\([^()]*\)/g, "");
  return [...plain.matchAll(/([^{}]+)\{/g)]
    .flatMap(([, group]) => group.split(/,(?![^(]*\))/))
    .map((selector) => selector.trim())
    .filter((selector) => !/^(@|from$|to$)/.test(selector));
}

// Both bring their style sheets into one document.
for (const [one, other] of [
  ["panel", "board"],
  ["board", "panel"],
])
  test(`the styles of a ${one} leave a ${other} in the same notebook alone`, () => {
    const there = classesOf(other);
    const selectors = selectorsOf(one);
    assert.ok(selectors.length > 50);
    const applied = selectors.filter((each) =>
      [...classesIn(each)].every((name) => there.has(name)),
    );
    assert.deepEqual(applied, []);
  });
