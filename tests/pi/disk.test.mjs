// Disks without room and folders without rights, in real Pi: what Pi does next, and
// that nothing is lost.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, readdirSync, renameSync, rmSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { openChat, prose } from "./chat.mjs";
import { assertCheckpoints } from "./expect.mjs";
import { isCompaction } from "./harness/conversation.mjs";
import { piIs } from "./harness/harness.mjs";
import { assertNothingLost, assertWellFormed, lastRequest } from "./lossless.mjs";
import { openMeddled, talk } from "./meddled.mjs";
import { compactNoted, fileOf, note, section, sessionId } from "./noted.mjs";

const AS_WAS = "The compaction failed; the context and the session are as they were.";

/** Pi could not write our compaction: it says so, nothing is compacted, and with room again all goes on. */
async function assertFailsThenLands(chat, giveRoom) {
  const requests = chat.ws.llm.requests().length;
  await assert.rejects(chat.compact(), /ENOSPC/);
  assert.equal(chat.ws.llm.requests().length, requests, "no model was asked in place of us");
  assert.deepEqual(chat.notices("warning"), [AS_WAS]);
  // Before 0.99 Pi keeps in memory what it could not write, so that file and memory differ from here on.
  const kept = piIs("0.99") ? 0 : 1;
  assert.equal((await chat.branch()).filter(isCompaction).length, kept);
  giveRoom();
  await chat.user("What now?", ["Now we go on."]);
  assertWellFormed(lastRequest(chat));
  await chat.compact();
  await chat.user("And now?", ["On and on."]);
  if (kept === 0) await assertCheckpoints(chat, { count: 1 });
  const compactions = (await chat.branch()).filter(isCompaction);
  assert.equal(compactions.length, kept + 1);
  assert.ok(compactions.at(-1).summary.includes("What about rain?"), "the compaction has it from the beginning");
  assert.deepEqual(chat.notices("warning"), [AS_WAS]);
  await assertNothingLost(chat);
}

test("the disk is full when Pi writes our compaction down", async (t) => {
  const chat = await openMeddled(t);
  await talk(chat, "rain");
  const file = await chat.sessionFile();
  chat.meddle({ does: "noRoom" });
  await assertFailsThenLands(chat, () => {
    chat.meddle({});
    unlinkSync(file);
    renameSync(`${file}.kept`, file);
  });
});

test("the disk is full when Pi writes our compaction down, and half of it stands in the file (needs the right to mount)", async (t) => {
  let folder;
  let refused;
  const chat = await openChat(t, {
    args: ["--session-dir", "sessions"],
    prepare({ cwd }) {
      folder = join(cwd, "sessions");
      mkdirSync(folder);
      const { status, stderr } = spawnSync("mount", ["-t", "tmpfs", "-o", "size=64k", "small", folder], { encoding: "utf8" });
      if (status !== 0) refused = stderr;
      t.after(() => spawnSync("umount", ["--lazy", folder]));
    },
  });
  if (refused) return t.skip(`needs the right to mount: ${refused}`);
  await talk(chat, "rain");
  // What is left of the disk goes to somebody else.
  const others = () => readdirSync(folder).filter((name) => name.startsWith("other-"));
  assert.throws(() => {
    for (let n = 0; ; n += 1) writeFileSync(join(folder, `other-${n}`), "x".repeat(4096));
  }, /ENOSPC/);
  // Pi goes on writing on the torn line: by reference the branch would break off there.
  await assertFailsThenLands(chat, () => others().forEach((name) => rmSync(join(folder, name))));
});

/** Pi as somebody to whom the modes of files apply: to root they do not, unless it gives that right away. */
const BY_MODES = process.getuid() === 0 ? { under: ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] } : {};

/** A chat whose sessions lie in the project. `setHome(false)` locks home and agent folder; Pi itself starts only without. */
async function openByModes(t, options) {
  let setHome;
  const chat = await openChat(t, {
    ...BY_MODES,
    ...options,
    prepare({ root, agentDir, cwd }) {
      mkdirSync(join(cwd, "sessions"));
      setHome = (writable) => [agentDir, root].forEach((folder) => chmodSync(folder, writable ? 0o755 : 0o555));
      t.after(() => setHome(true));
    },
    args: ["--session-dir", "sessions"],
  });
  await chat.state();
  return Object.assign(chat, { setHome });
}

test("a home that cannot be written to: compactions land, and nothing is missed", async (t) => {
  const chat = await openByModes(t);
  chat.setHome(false);
  const names = readdirSync(chat.ws.agentDir);
  await talk(chat, "rain");
  await chat.compact();
  await chat.user("What now?", ["Now we go on."]);
  await assertCheckpoints(chat, { count: 1 });
  assert.deepEqual(chat.notices("warning"), []);
  assert.deepEqual(readdirSync(chat.ws.agentDir), names, "nothing was written there");
  chat.setHome(true);
  await assertNothingLost(chat);
});

test("the same in the checkpoint method: the note counts, and one notice says that there is no file", async (t) => {
  const chat = await openByModes(t, { env: { PI_STET_METHOD: "checkpoint" } });
  chat.setHome(false);
  await chat.user("Build it.", [{ say: "I note it.", calls: [note("THE NOTE")] }, "Noted."]);
  await chat.user("Go on.", ["Going on."]);
  await chat.user(prose("the kept question", 800), [prose("the kept answer", 800)]);
  assert.equal(fileOf(chat, await sessionId(chat)), undefined);
  const compaction = await compactNoted(chat);
  assert.equal(section(compaction.summary, "checkpoint"), "THE NOTE");
  await chat.user("What now?", ["Now we go on."]);
  const warnings = chat.notices("warning");
  assert.deepEqual(warnings.map((text) => /Permission denied/.test(text)), [true], JSON.stringify(warnings));
  chat.setHome(true);
  await assertNothingLost(chat);
});

test("log and recordings that cannot be written cost no compaction", async (t) => {
  const chat = await openChat(t, { env: { PI_STET_LOG: "/dev/full", PI_STET_RECORD: "small.txt" } });
  await talk(chat, "rain");
  await chat.compact();
  await chat.user("What now?", ["Now we go on."]);
  await assertCheckpoints(chat, { count: 1 });
  const [warning, ...more] = chat.notices("warning");
  assert.match(warning, /could not write a recording: .*small\.txt/);
  assert.deepEqual(more, [], "said once");
  await assertNothingLost(chat);
});
