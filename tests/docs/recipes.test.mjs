// The shell recipes of docs/recipes.md: each block runs, and prints what stands below it.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import test from "node:test";
import { BINARY, openChat, prose } from "../pi/chat.mjs";
import { isCompaction } from "../pi/harness/conversation.mjs";

const CHECKOUT = resolve(import.meta.dirname, "../..");
const PAGE = readFileSync(join(CHECKOUT, "docs", "recipes.md"), "utf8");

/** The blocks in their order: { script, printed? }. */
function recipes() {
  const blocks = [...PAGE.matchAll(/```sh\n([^]*?)```\n(?:```text\n([^]*?)```\n)?/g)];
  return blocks.map(([, script, printed]) => ({ script, printed }));
}

/** Whether a text is the pattern, in which `…` stands for anything, but not for nothing. */
function fits(text, pattern) {
  const quoted = pattern.split("…").map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${quoted.join("[^]+?")}$`).test(text);
}

test("every recipe prints what the page says", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "pi-test-recipes-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const env = {
    PATH: [dirname(BINARY), process.env.PATH].join(delimiter),
    HOME: folder,
    TMPDIR: folder,
    LANG: "C.UTF-8",
    SESSION: /SESSION=(\S+)/.exec(PAGE)[1],
  };
  const all = recipes();
  assert.ok(all.length >= 10);
  for (const { script, printed = "" } of all) {
    const run = spawnSync("bash", ["--norc", "-euc", script], { stdio: ["ignore", "pipe", "pipe"], cwd: CHECKOUT, env, encoding: "utf8" });
    assert.equal(run.stderr, "", script);
    assert.ok(fits(run.stdout, printed), `${script}\nprinted:\n${run.stdout}\nand not:\n${printed}`);
    assert.equal(run.status, 0, script);
  }
});

test("in real Pi the other binary answers a compaction", async (t) => {
  const chat = await openChat(t, { env: { PI_STET_BIN: join(CHECKOUT, "docs", "examples", "questions-only.py") } });
  await chat.user("What about rain?", ["It rains."]);
  await chat.user(prose("the kept question", 800), [prose("the kept answer", 800)]);
  await chat.compact();
  const { summary } = (await chat.branch()).find(isCompaction);
  assert.equal(summary, "The user said:\n- What about rain?");
});
