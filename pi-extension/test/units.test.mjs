// What real Pi in RPC mode does not show: lookup on disk, the TUI's parts, and
// the answers to a binary that answers wrongly.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import { stripVTControlCharacters } from "node:util";
import { SessionManager } from "@earendil-works/pi-coding-agent";
import { CombinedAutocompleteProvider, KeybindingsManager, TUI_KEYBINDINGS, visibleWidth } from "@earendil-works/pi-tui";
import { ActiveSet } from "../src/active.ts";
import { describe as describeCommands } from "../src/autocomplete.ts";
import { BranchFact, labelsOf } from "../src/branch.ts";
import { runChild } from "../src/child.js";
import { completions } from "../src/commands.ts";
import { buildEnvelope, sessionByReference } from "../src/envelope.ts";
import { PanelView } from "../src/panel.ts";
import { isTooOld } from "../src/pi-compat.ts";
import { fillCallLine, oneLine, plain, summary, whole } from "../src/render.ts";
import { rearrange, skeletons } from "../src/transcript.ts";
import { isAlive, until } from "./support.mjs";

describe("the binary is looked for", () => {
  const inTemp = async (body) => {
    const root = realpathSync(mkdtempSync(join(tmpdir(), "lookup-")));
    const put = (...path) => {
      const file = join(root, ...path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, "#!/bin/sh\n");
      chmodSync(file, 0o755);
      return file;
    };
    const src = join(root, "checkout", "pi-extension", "src");
    mkdirSync(src, { recursive: true });
    writeFileSync(join(root, "checkout", "pi-extension", "package.json"), '{"type":"module"}');
    cpSync(join(import.meta.dirname, "../src/find-binary.ts"), join(src, "find-binary.ts"));
    try {
      const { findBinary, quoted } = await import(pathToFileURL(join(src, "find-binary.ts")));
      await body({ root, put, findBinary, quoted });
    } finally {
      rmSync(root, { recursive: true, force: true });
    }
  };

  test("on PATH, in the checkout, in bin/, in the platform package, where PI_STET_BIN says; the later ones first", () =>
    inTemp(({ root, put, findBinary }) => {
      const env = { PATH: `/nowhere:${join(root, "path")}` };
      const platform = `pi-stet-${process.platform}-${process.arch}`;
      for (const place of [
        ["path", "pi-stet"],
        ["checkout", "target", "release", "pi-stet"],
        ["checkout", "pi-extension", "bin", "pi-stet"],
        ["checkout", platform, "bin", "pi-stet"],
        ["checkout", "pi-extension", "node_modules", platform, "bin", "pi-stet"],
      ]) {
        const file = put(...place);
        assert.deepEqual(findBinary(env), { path: file });
      }
      const named = put("elsewhere", "otter");
      assert.deepEqual(findBinary({ ...env, PI_STET_BIN: named }), { path: named });
    }));

  test("a project's own program is never ours, even if PATH has a folder of the project", () =>
    inTemp(({ root, put, findBinary }) => {
      put("project", "bin", "pi-stet");
      put("project", "pi-stet");
      const before = process.cwd();
      process.chdir(join(root, "project"));
      try {
        assert.ok("missing" in findBinary({ PATH: `.:bin:./bin::${join(root, "nowhere")}` }));
      } finally {
        process.chdir(before);
      }
    }));

  test("what cannot be executed is passed over; what is missing comes with the command that builds it", () =>
    inTemp(({ root, put, findBinary }) => {
      chmodSync(put("checkout", "target", "release", "pi-stet"), 0o644);
      mkdirSync(join(root, "checkout", "pi-extension", "bin", "pi-stet"), { recursive: true });
      assert.match(findBinary({ PATH: "" }).mend, /^cargo install/);
      const cargoToml = put("checkout", "Cargo.toml");
      assert.equal(findBinary({ PATH: "" }).mend, `cargo build --release --manifest-path ${cargoToml}`);
    }));

  test("a path in a command is one word of a shell, whatever stands in it", () =>
    inTemp(({ root, quoted }) => {
      for (const name of ["plain", "a b", "it's ü", '$HOME "x"', "`id`"]) {
        const path = join(root, name);
        assert.equal(execFileSync("sh", ["-c", `printf %s ${quoted(path)}`], { encoding: "utf8" }), path);
      }
    }));
});

describe("a child", () => {
  const run = (script, more = {}) =>
    runChild({ binary: "/bin/sh", args: ["-c", script], timeoutMs: 5000, maxStdoutBytes: 1e6, ...more });

  test("that never reads its input, however much it is, is no fault", async () => {
    const result = await run("echo done", { input: "x".repeat(8 * 1024 * 1024) });
    assert.deepEqual({ kind: result.kind, status: result.status, stdout: result.stdout }, { kind: "exited", status: 0, stdout: "done\n" });
  });

  test("that reads slowly gets all of it", async () => {
    const result = await run("sleep 0.1; wc -c", { input: "x".repeat(4 * 1024 * 1024) });
    assert.equal(result.stdout.trim(), String(4 * 1024 * 1024));
  });

  test("that prints far too much to stderr is not held up, and most of it is dropped", async () => {
    const result = await run("head -c 5000000 /dev/zero | tr '\\0' e >&2; echo done");
    assert.equal(result.stdout, "done\n");
    assert.ok(result.stderr.length <= 64 * 1024);
  });

  test("is killed with what it started", async () => {
    const dir = mkdtempSync(join(tmpdir(), "child-"));
    try {
      const result = await run(`sleep 60 & echo $! > ${dir}/pid; sleep 60`, { timeoutMs: 300 });
      assert.equal(result.kind, "timeout");
      const pid = Number(readFileSync(join(dir, "pid"), "utf8"));
      assert.ok(pid > 0);
      await until(() => !isAlive(pid), "the end of the grandchild");
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  });

  test("whose offspring keeps the pipe open does not keep Pi waiting", async () => {
    const started = Date.now();
    const result = await run("sleep 60 & echo done");
    assert.equal(result.stdout, "done\n");
    assert.ok(Date.now() - started < 3000);
  });

  test("of an aborted call is not started", async () => {
    assert.deepEqual(await run("echo done", { signal: AbortSignal.abort() }), { kind: "aborted" });
  });
});

test("Pi before 0.87 is too old", () => {
  assert.deepEqual(["0.74.2", "0.86.9", "0.87.0", "0.99.1", "1.0.0", "1.6.0", "unknown"].map(isTooOld), [true, true, false, false, false, false, false]);
});

test("completions: the words of the place being typed, with what stands before them", () => {
  const places = [["ask", "awake"], ["loud", "low"]];
  const values = (prefix) => completions(places, prefix)?.map((item) => item.value) ?? null;
  assert.deepEqual(values(""), ["ask", "awake"]);
  assert.deepEqual(values("aw"), ["awake"]);
  assert.deepEqual(values("ask "), ["ask loud", "ask low"]);
  assert.deepEqual(values("ask  lou"), ["ask  loud"]);
  assert.equal(values("x"), null);
  assert.equal(values("ask loud "), null);
});

describe("descriptions of commands in Pi's own autocomplete", () => {
  const commands = [{ name: "compact", description: "Pi's words" }, { name: "copy", description: "Copy" }];
  const suggest = (provider, text) => provider.getSuggestions([text], 0, text.length, { signal: new AbortController().signal });

  test("only the described command has other words; everything else is the same object", async () => {
    const inner = new CombinedAutocompleteProvider(commands, "/");
    let given;
    const spy = {
      getSuggestions: async (...args) => (given = await inner.getSuggestions(...args)),
      applyCompletion: (...args) => inner.applyCompletion(...args),
    };
    const outer = describeCommands(spy, new Map([["compact", "As otters do"]]));
    const { items, prefix } = await suggest(outer, "/co");
    assert.equal(prefix, "/co");
    assert.deepEqual(items.map((item) => item.description), ["As otters do", "Copy"]);
    assert.equal(items[1], given.items[1]);
    assert.equal(given.items[0].description, "Pi's words", "nothing of the inner provider is changed");
    assert.deepEqual(outer.applyCompletion(["/co"], 0, 3, items[0], prefix), inner.applyCompletion(["/co"], 0, 3, given.items[0], prefix));
    assert.equal(outer.shouldTriggerFileCompletion(["x"], 0, 1), true, "as Pi does for a provider without the method");
    assert.equal(await suggest(outer, "/nothing-like-it"), null);
  });

  test("an argument that looks like a command keeps its words; the inner provider's answers are forwarded", async () => {
    const inner = {
      triggerCharacters: ["#"],
      getSuggestions: async () => ({ prefix: "compact", items: [{ value: "compact", label: "compact" }] }),
      applyCompletion: () => "applied",
      shouldTriggerFileCompletion: () => false,
    };
    const outer = describeCommands(inner, new Map([["compact", "As otters do"]]));
    assert.equal((await suggest(outer, "/x compact")).items[0].description, undefined);
    assert.deepEqual(outer.triggerCharacters, ["#"]);
    assert.equal(outer.shouldTriggerFileCompletion(), false);
    assert.equal(outer.applyCompletion(), "applied");
  });
});

test("call lines: arguments in one line, clipped at characters, absent ones left out", () => {
  assert.equal(fillCallLine("grep {pattern} in {path}", { pattern: "a\n b", path: "src" }), "grep a b in src");
  assert.equal(fillCallLine("grep {pattern} {path}", undefined), "grep");
  assert.equal(fillCallLine("show {ids}", { ids: ["a", "b"] }), "show a, b");
  assert.equal(fillCallLine("say {text}", { text: "🦦".repeat(200) }), `say ${"🦦".repeat(119)}…`);
  assert.equal(fillCallLine("list[ of {in}][, page {page}]", { page: 2 }), "list, page 2");
  assert.equal(fillCallLine("list[ of {in}][, page {page}]", { in: [], page: null }), "list");
  assert.equal(fillCallLine("show {what}", { what: { secret: ["x"] } }), "show {…}", "no JSON");
  assert.equal(fillCallLine("say {text}", { text: "[a] {b} \x1b[31mred\x07" }), "say [a] {b} red", "what a model writes is no template");
});

/** Marks colors as a terminal would be told of them. */
const theme = { fg: (_color, text) => `\x1b[31m${text}\x1b[39m`, bg: (_color, text) => text, bold: (text) => text };
const drawn = (component, width) => component.render(width).map((text) => stripVTControlCharacters(text).trimEnd());
const LONG = "ein langer Weg/架构/🦀🦀🦀/a-directory-without-any-place-to-break-it/file.md";

test("results: the first line, how many more, how to see them", () => {
  const collapsed = (text, width, key) => drawn(summary(text, (part) => theme.fg("x", part), theme, key), width);
  assert.deepEqual(collapsed("one", 80, "ctrl+o"), ["one"]);
  assert.deepEqual(collapsed("one\ntwo\n", 80, "ctrl+o"), ["one (1 more line, ctrl+o to expand)"]);
  assert.deepEqual(collapsed("one\ntwo\nthree", 80), ["one (2 more lines)"]);
  assert.deepEqual(collapsed("one and a half\ntwo\nthree", 32, "ctrl+o"), ["one and a half (2 more lines)"]);
  assert.deepEqual(collapsed("one and a half\ntwo\nthree", 12, "ctrl+o"), ["one and a h…"]);
  assert.deepEqual(drawn(whole("one\ntwo"), 20), ["one", "two"]);
});

test("one line is one line at any width", () => {
  for (let width = 1; width <= 200; width += 1) {
    const lines = oneLine(theme.fg("x", LONG), "(a note)", "(n)").render(width);
    assert.equal(lines.length, 1);
    assert.ok(visibleWidth(lines[0]) <= width, `${width}: ${lines[0]}`);
  }
});

test("a terminal is told nothing by what is drawn", () => {
  assert.equal(plain("a\x1b[2Jb\x1b]0;title\x07c\r\x08d\u009b1me\tf\ng"), "abcde    f\ng");
});

describe("a panel", () => {
  const rows = [
    { label: "method", text: "verbatim" },
    { label: "pinned", text: `2 entries:\n${LONG}\n重要な出力です \x1b[2J🦀` },
    { label: "mixed", text: "a summary is part of it", level: "warning" },
  ];
  const view = (room = 100) => new PanelView({ title: "otter", rows }, theme, new KeybindingsManager(TUI_KEYBINDINGS), () => room);

  test("has two columns, and one where two do not fit", () => {
    assert.deepEqual(drawn(view(), 100).slice(2, -3), [
      " otter", "",
      " method  verbatim", " pinned  2 entries:", `         ${LONG}`, "         重要な出力です 🦀", " mixed   a summary is part of it",
    ]);
    assert.deepEqual(drawn(view(), 16).slice(4, 8), [" method", "   verbatim", " pinned", "   2 entries:"]);
  });

  test("is never wider than the screen, and loses no character", () => {
    const signs = (text) => stripVTControlCharacters(text).replace(/[\s─]/g, "");
    for (let width = 4; width <= 200; width += 1) {
      const lines = view().render(width);
      for (const text of lines) assert.ok(visibleWidth(text) <= width, `${width}: ${text}`);
      for (const { text } of rows) assert.ok(signs(lines.join("")).includes(signs(plain(text))), `${width}: ${text}`);
    }
  });

  test("scrolls where the screen is too low", () => {
    const low = view(9);
    const seen = () => drawn(low, 100).slice(4, -3);
    assert.deepEqual(seen(), [" method  verbatim", " pinned  2 entries:"]);
    assert.match(drawn(low, 100).at(-2), /^ ↑↓ scroll {2}escape close {2}\(1–2 of 5\)$/);
    assert.ok(low.handle("\x1b[B"));
    assert.deepEqual(seen(), [" pinned  2 entries:", `         ${LONG}`]);
    for (let times = 0; times < 9; times += 1) low.handle("\x1b[B");
    assert.deepEqual(seen(), ["         重要な出力です 🦀", " mixed   a summary is part of it"]);
    for (let times = 0; times < 9; times += 1) low.handle("\x1b[A");
    assert.equal(seen()[0], " method  verbatim");
    assert.ok(!low.handle("\x1b"), "any other key closes it");
  });
});

describe("transcripts", () => {
  const messages = [
    { role: "system", timestamp: 1, content: "prompt" },
    { role: "user", timestamp: 2, content: "secret" },
    { role: "custom", timestamp: 3, customType: "otter.note", content: "secret", details: { n: 1 } },
    { role: "custom", timestamp: 4, customType: "else", content: "secret", details: { huge: "secret" } },
  ];
  const manifest = { messageTypes: [{ customType: "otter.note", line: "" }] };

  test("skeletons hold no content, and details of known types only", () => {
    assert.deepEqual(JSON.parse(JSON.stringify(skeletons(messages, manifest))), [
      { role: "system", timestamp: 1 },
      { role: "user", timestamp: 2 },
      { role: "custom", timestamp: 3, customType: "otter.note", details: { n: 1 } },
      { role: "custom", timestamp: 4, customType: "else" },
    ]);
  });

  test("indices name the same message objects, new messages become custom ones", () => {
    const { messages: next } = rearrange(messages, { messages: [0, { customType: "x", content: "new" }, 1] });
    assert.equal(next[0], messages[0]);
    assert.equal(next[2], messages[1]);
    const { timestamp, ...added } = next[1];
    assert.deepEqual(added, { role: "custom", customType: "x", content: "new", display: false });
    assert.ok(timestamp > 0);
  });

  test("the old transcript is no change; a wrong one is a failure", () => {
    assert.equal(rearrange(messages, { messages: [0, 1, 2, 3] }), undefined);
    for (const wrong of [{}, { messages: "all" }, { messages: [0, 4] }, { messages: [0, 1.5] }, { messages: [0, null] }, { messages: [0, { content: "x" }] }, { messages: [1, 0] }, { messages: [] }]) {
      assert.ok(rearrange(messages, wrong).failure, JSON.stringify(wrong));
    }
  });
});

describe("the session in the envelope", () => {
  const host = { pi: {}, branch: { hasSystemMessage: { holds: () => false } }, contextFiles: undefined };
  const ctxOf = (sessionManager) => ({ sessionManager, mode: "rpc", hasUI: true, hasPendingMessages: () => false, cwd: "/", isProjectTrusted: () => false, getSystemPrompt: () => "PROMPT" });

  test("an empty branch of an existing file has the leaf null", () => {
    const dir = mkdtempSync(join(tmpdir(), "session-"));
    try {
      const sessions = SessionManager.create(dir, dir);
      sessions.appendMessage({ role: "user", content: "hello", timestamp: 1 });
      sessions.appendMessage({ role: "assistant", content: [], timestamp: 2 });
      sessions.resetLeaf();
      const session = sessionByReference(ctxOf(sessions));
      assert.equal(session.file, sessions.getSessionFile());
      assert.equal(session.leafId, null);
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  });

  test("the system prompt goes along only where the branch has none", () => {
    const ctx = ctxOf(SessionManager.inMemory("/"));
    const request = { event: "tool", payload: {}, session: false, prompt: true };
    assert.equal(buildEnvelope(host, ctx, request, {}, undefined).systemPrompt, "PROMPT");
    assert.equal(buildEnvelope(host, ctx, { ...request, prompt: false }, {}, undefined).systemPrompt, undefined);
    const knowing = { ...host, branch: { hasSystemMessage: { holds: () => true } } };
    assert.equal(buildEnvelope(knowing, ctx, request, {}, undefined).systemPrompt, undefined);
  });

  test("labels of the branch go along", () => {
    const sessions = SessionManager.inMemory("/");
    const id = sessions.appendMessage({ role: "user", content: "hello", timestamp: 1 });
    sessions.appendLabelChange(id, "keep");
    assert.deepEqual(labelsOf(sessions, sessions.getBranch()), { [id]: "keep" });
  });

  test("a fact about the branch follows the leaf, and walks a grown branch once", () => {
    const sessions = SessionManager.inMemory("/");
    const asked = [];
    const fact = new BranchFact((entry) => (asked.push(entry.id), entry.type === "compaction"));
    assert.equal(fact.holds(sessions), false);
    const first = sessions.appendMessage({ role: "user", content: "1", timestamp: 1 });
    const second = sessions.appendMessage({ role: "user", content: "2", timestamp: 2 });
    assert.equal(fact.holds(sessions), false);
    const third = sessions.appendMessage({ role: "user", content: "3", timestamp: 3 });
    assert.equal(fact.holds(sessions), false);
    assert.deepEqual(asked, [second, first, third]);
    sessions.appendCompaction("s", third, 1);
    assert.equal(fact.holds(sessions), true);
    sessions.appendMessage({ role: "user", content: "4", timestamp: 4 });
    assert.equal(fact.holds(sessions), true);
    sessions.branch(second);
    assert.equal(fact.holds(sessions), false);
  });
});

test("a hook that is off is not subscribed; switching it on and off subscribes and unsubscribes", () => {
  const subscribed = new Set();
  const unknown = [];
  const manifest = {
    hooks: [{ event: "turn_end", active: false }, { event: "session_tree", active: true }],
    tools: [],
    promptSections: [],
  };
  const pi = { getActiveTools: () => [], setActiveTools: () => assert.fail("no tool changes") };
  const active = new ActiveSet(pi, manifest, {
    subscribeHook: (event) => (subscribed.add(event), () => subscribed.delete(event)),
    unknown: (_ctx, name) => unknown.push(name),
  });
  assert.deepEqual(active.start(), []);
  assert.deepEqual([...subscribed], ["session_tree"]);
  active.change({}, { enable: ["turn_end"], disable: ["session_tree"] });
  assert.deepEqual([...subscribed], ["turn_end"]);
  active.change({}, { disable: ["turn_end", "moon"] });
  assert.deepEqual([...subscribed], []);
  assert.deepEqual(unknown, ["moon"]);
});

test("in a resumed session a tool that the transcript left off can be switched on again", () => {
  let tools = ["read"];
  let all = [{ name: "dive", exposure: "direct" }];
  const pi = { getActiveTools: () => tools, setActiveTools: (next) => (tools = next), getAllTools: () => all };
  const manifest = { hooks: [], promptSections: [], tools: [{ name: "dive", active: true }, { name: "float", active: false }] };
  const make = () => new ActiveSet(pi, manifest, { subscribeHook: () => undefined, unknown: () => {} });
  const resumed = make();
  resumed.sessionStarted(false);
  resumed.change({}, { enable: ["dive"] });
  assert.deepEqual(tools, ["read", "dive"]);

  tools = ["read"];
  const fresh = make();
  fresh.sessionStarted(true);
  fresh.change({}, { enable: ["dive", "float"] });
  assert.deepEqual(tools, ["read", "float"], "in a fresh session its absence is the user's wish");

  all = [{ name: "dive" }];
  tools = ["read", "dive", "float"];
  make().sessionStarted(true);
  assert.deepEqual(tools, ["read", "dive"], "Pi before 0.99 activates every tool that is registered");
});
