import assert from "node:assert/strict";
import { test } from "node:test";

// A document that keeps what was made of it; it can make no more than elements and text.
class Element {
  constructor(tag) {
    Object.assign(this, { tag, attributes: {}, children: [] });
  }

  setAttribute(name, value) {
    this.attributes[name] = value;
  }

  set textContent(text) {
    this.children = [text];
  }

  append(...children) {
    this.children.push(...children);
  }

  toString() {
    const attributes = Object.entries(this.attributes)
      .map(([name, value]) => ` ${name}=${value}`)
      .join("");
    return `<${this.tag}${attributes}>${this.children.map((child) => (typeof child === "string" ? child && `{${child}}` : child)).join("")}</${this.tag}>`;
  }
}

globalThis.document = { createElement: (tag) => new Element(tag) };
const { markdown } = await import("../../../nbtrain/panel/js/shared/cards/markdown.js");
const made = (text) => markdown(text).children.join("");

test("words, lists and code", () => {
  assert.equal(
    made("# A\n**b** *c* `d`"),
    "<h1>{A}</h1><p><strong>{b}</strong>{ }<em>{c}</em>{ }<code>{d}</code></p>",
  );
  assert.equal(made("- a\n- b\n"), "<ul><li>{a}</li><li>{b}</li></ul>");
  assert.equal(made("3. a"), "<ol start=3><li>{a}</li></ol>");
  assert.equal(made("```py\na\n```"), "<pre><code>{a\n}</code></pre>");
  assert.equal(made("> a\n\n---"), "<blockquote><p>{a}</p></blockquote><hr></hr>");
});

test("tables, with the sides their columns keep to", () => {
  assert.equal(
    made("|a|b|\n|-|-:|\n|1|2|"),
    "<table><thead><tr><th>{a}</th><th style=text-align:right>{b}</th></tr></thead><tbody><tr><td>{1}</td><td style=text-align:right>{2}</td></tr></tbody></table>",
  );
});

test("a link leads to another page, which does not know from where", () => {
  assert.equal(
    made("[a](https://b.c/d?e=f)"),
    "<p><a href=https://b.c/d?e=f target=_blank rel=noopener noreferrer title=https://b.c/d?e=f>{a}</a></p>",
  );
});

test("HTML stays text", () => {
  for (const text of [
    "<script>a()</script>",
    '<img src=x onerror="a()">',
    "a <svg onload=a()> b",
    "<!-- a -->",
  ]) {
    assert.deepEqual(
      markdown(text).children.map((child) => child.tag),
      ["p"],
    );
    assert.deepEqual(markdown(text).children[0].children.join(""), text);
  }
});

test("only links to the web and to mail are links", () => {
  const wicked = [
    "javascript:a()",
    "JaVaScRiPt:a()",
    "data:text/html,a",
    "data:image/png;base64,AAAA",
    "vbscript:a",
    "file:///a",
    "/lab?reset",
    "#a",
    "&#106;avascript:a()",
  ];
  for (const url of wicked) assert.ok(!made(`[a](${url}) <${url}>`).includes("<a"), url);
  assert.ok(made("<https://a.b>").includes("href=https://a.b"));
  assert.ok(made("[a](mailto:a@b.c)").includes("href=mailto:a@b.c"));
});

test("an image is not loaded", () => {
  assert.ok(!made("![a](https://b.c/d.png)").includes("<img"));
  assert.ok(!made("[![a](https://b.c/d.png)](https://e.f)").includes("<img"));
});
