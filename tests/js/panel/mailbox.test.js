import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { below, config, Mailbox } from "../../../nbtrain/panel/js/panel/mailbox.js";

const PLACE = {
  folders: ["/home/ada/work/runs/x"],
  homes: ["/home/ada"],
  path: ["x"],
  attempt: "9f6c",
};
const SERVER = { baseUrl: "/user/ada/", serverRoot: "~/work", token: "" };

function page(
  context,
  server,
  answer = { ok: true, status: 201 },
  cookie = "a=1; _xsrf=2|b3; c=4",
) {
  const written = server && { textContent: JSON.stringify(server) };
  const before = globalThis.document;
  globalThis.document = {
    cookie,
    body: { dataset: {} },
    getElementById: (id) => (id === "jupyter-config-data" ? written : null),
  };
  context.after(() => (globalThis.document = before));
  return context.mock.method(globalThis, "fetch", async () => {
    if (answer instanceof Error) throw answer;
    return answer;
  });
}

const at = (place, root) => below({ ...PLACE, ...place }, root)?.join("/");

test("a run's folder is seen from the root of the server", () => {
  assert.equal(at({}, "/home/ada/work"), "runs/x");
  assert.equal(at({}, "/home/ada/work/"), "runs/x");
  assert.equal(at({}, "/"), "home/ada/work/runs/x");
  assert.equal(at({}, "/home/ada/work/runs/x"), "");
});

test("a folder that is not below the root of the server has no path there", () => {
  assert.equal(at({}, "/home/ada/wor"), undefined);
  assert.equal(at({}, "/home/ada/work/runs/y"), undefined);
  assert.equal(at({}, "/home/ada/work/runs/x/deeper"), undefined);
});

test("a root that begins with ~ is in the home of the kernel's user", () => {
  assert.equal(at({}, "~/work"), "runs/x");
  assert.equal(at({}, "~"), "work/runs/x");
  assert.equal(at({ homes: ["/root"] }, "~/work"), undefined);
  assert.equal(at({ folders: ["/~/x"] }, "/~"), "x");
});

test("a home or a folder may be written with symbolic links or without", () => {
  assert.equal(at({ homes: ["/u/ada", "/home/ada"] }, "~/work"), "runs/x");
  assert.equal(at({ folders: ["/data/x", "/home/ada/work/x"] }, "~/work"), "x");
});

test("a command is put into the mailbox with the page's own credentials", async (context) => {
  const fetched = page(context, { ...SERVER, token: "t0k" });
  const place = { ...PLACE, folders: ["/home/ada/work/my runs/50%/ä#?"] };
  const command = { command: "set", values: { rate: 0.5 } };
  assert.equal(await new Mailbox(() => place).send("4f2a", command), "");
  const [url, { method, headers, body, credentials }] = fetched.mock.calls[0].arguments;
  const path = "my%20runs/50%25/%C3%A4%23%3F/mailbox/4f2a.json";
  assert.equal(url, `/user/ada/api/contents/${path}`);
  assert.equal(method, "PUT");
  assert.equal(credentials, "same-origin");
  assert.equal(headers["X-XSRFToken"], "2|b3");
  assert.equal(headers.Authorization, "token t0k");
  const { type, format, content } = JSON.parse(body);
  assert.deepEqual([type, format], ["file", "text"]);
  const { nbtrain, attempt, by, ...sent } = JSON.parse(content);
  assert.deepEqual([nbtrain, attempt], [1, "9f6c"]);
  assert.match(by, /panel/);
  assert.deepEqual(sent, command);
});

test("a command that the run has taken at once is sent, though the server misses its file", async (context) => {
  const taken = written({ state: "requested", command: "stop" });
  const fetched = page(context, SERVER);
  fetched.mock.mockImplementation(async (_, { method }) =>
    method === "PUT" ? { ok: false, status: 404 } : taken,
  );
  assert.equal(await new Mailbox(() => PLACE).send("4f2a", { command: "stop" }), "");
});

test("a page without token and cookie sends neither", async (context) => {
  const fetched = page(context, { ...SERVER, baseUrl: "/lab" }, undefined, "");
  await new Mailbox(() => PLACE).send("4f2a", { command: "stop" });
  const [url, { headers }] = fetched.mock.calls[0].arguments;
  assert.equal(url, "/lab/api/contents/runs/x/mailbox/4f2a.json");
  assert.deepEqual(Object.keys(headers), ["Content-Type"]);
});

for (const [answer, lack] of [
  [{ ok: true, status: 201 }, ""],
  [{ ok: false, status: 403 }, "403"],
  [{ ok: false, status: 404 }, "404"],
  [{ ok: true, status: 200, redirected: true }, "200"], // a page to log in
  [new TypeError("Failed to fetch"), "the server does not answer"],
])
  test(`a command whose answer is ${answer.status ?? answer} is told as ${lack || "sent"}`, async (context) => {
    page(context, SERVER, answer);
    assert.equal(await new Mailbox(() => PLACE).send("4f2a", { command: "stop" }), lack);
  });

test("a page that is none of Jupyter's, or elsewhere, sends nothing", async (context) => {
  for (const [server, place] of [
    [undefined, PLACE],
    [{ ...SERVER, baseUrl: undefined }, PLACE],
    [{ ...SERVER, serverRoot: undefined }, PLACE], // as in voila
    [{ ...SERVER, serverRoot: "/srv" }, PLACE],
    [
      { ...SERVER, serverRoot: undefined, notebookPage: "notebooks" },
      { ...PLACE, path: null },
    ],
    [SERVER, null],
    [SERVER, undefined],
  ]) {
    const fetched = page(context, server);
    const mailbox = new Mailbox(() => place);
    assert.equal(await mailbox.send("4f2a", { command: "stop" }), null);
    assert.equal(await mailbox.answer("4f2a"), null);
    assert.equal(fetched.mock.callCount(), 0);
    mock.restoreAll();
  }
});

test("a page of the classic Notebook has its settings at its body", (context) => {
  page(context, undefined);
  const { body } = globalThis.document;
  body.dataset = { baseUrl: "/user/a%20b/", jupyterApiToken: "t0k", notebookPath: "x.ipynb" };
  assert.deepEqual(config(), { baseUrl: "/user/a b/", serverRoot: "", token: "t0k" });
});

test("a page that does not know the root of its server uses what the kernel knows", async (context) => {
  const fetched = page(context, { baseUrl: "/", notebookPage: "notebooks", token: "" });
  await new Mailbox(() => PLACE).send("4f2a", { command: "stop" });
  assert.equal(fetched.mock.calls[0].arguments[0], "/api/contents/x/mailbox/4f2a.json");
});

test("a page whose settings cannot be read is none of Jupyter's", (context) => {
  page(context, SERVER);
  globalThis.document.getElementById = () => ({ textContent: "{" });
  assert.equal(config(), null);
});

const written = (fields) => ({ json: async () => ({ content: JSON.stringify(fields) }) });

test("the run's answer is read as a receipt", async (context) => {
  const fields = { state: "applied", command: "save", step: 1240, text: "saved ckpt-1240" };
  const fetched = page(context, SERVER, written(fields));
  assert.deepEqual(await new Mailbox(() => PLACE).answer("4f2a"), {
    id: "4f2a",
    command: "save",
    state: "applied",
    text: "saved ckpt-1240 (step 1,240)",
  });
  const [url, { cache }] = fetched.mock.calls[0].arguments;
  const path = "runs/x/mailbox/answers/4f2a.json?type=file&format=text";
  assert.equal(url, `/user/ada/api/contents/${path}`);
  assert.equal(cache, "no-store");
});

test("a command that the run has taken and not answered is requested", async (context) => {
  page(context, SERVER, written({ state: "requested", command: "save" }));
  assert.equal((await new Mailbox(() => PLACE).answer("4f2a")).state, "requested");
});

test("an answer that is not there, or is no answer, is none", async (context) => {
  const nothing = { json: async () => ({ message: "No such file" }) };
  for (const answer of [nothing, written(null), new TypeError("Failed to fetch")]) {
    page(context, SERVER, answer);
    assert.equal(await new Mailbox(() => PLACE).answer("4f2a"), null);
    mock.restoreAll();
  }
});
