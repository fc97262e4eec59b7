// What may go wrong around a compaction in real Pi, one fault a row: what Pi does
// next, and that nothing is lost. Faults of the binary as any host meets them (it is
// missing, hangs, floods, speaks another protocol) are in pi-extension/test/failures.test.mjs.
import assert from "node:assert/strict";
import test from "node:test";
import { isDeepStrictEqual } from "node:util";
import { openChat } from "./chat.mjs";
import { assertCheckpoints } from "./expect.mjs";
import { isCompaction } from "./harness/conversation.mjs";
import { assertNothingLost, assertWellFormed, lastRequest } from "./lossless.mjs";
import { openMeddled, talk } from "./meddled.mjs";

const PI_SUMMARY = "Pi's own summary, by the model.";
const ELSEWHERE = { type: "message", id: "0e15e0e1", parentId: null, timestamp: "2026-01-01T00:00:00.000Z", message: { role: "user", content: "said to another Pi" } };

/** Our compaction landed, and nothing is said; Pi's own landed, or none, and these words were shown. */
const OURS = { whose: "ours" };
const PIS = (notice) => ({ whose: "Pi's", notice });
const NOBODYS = (notice) => ({ whose: "nobody's", notice });

// How the binary was run: by file, or with the branch in the envelope after `session-stale`.
const BY_FILE = [{ by: "file", error: undefined }];
const STALE = [{ by: "file", error: "session-stale" }, { by: "branch", error: undefined }];

const SESSION_FILE = {
  "its last lines are not there yet": { fault: { does: "lastLinesGone" }, runs: STALE, then: OURS },
  "its last line is cut": { fault: { does: "lastLineCut" }, runs: STALE, then: OURS },
  "a line in the middle is overwritten": { fault: { does: "lineOverwritten" }, runs: STALE, then: OURS },
  "it is empty": { fault: { does: "emptied" }, runs: STALE, then: OURS },
  "its header names another session": { fault: { does: "otherHeader" }, runs: STALE, then: OURS },
  "another session stands in its place": { fault: { does: "otherSession" }, other: true, runs: STALE, then: OURS },
  "it is no session any more": { fault: { does: "otherText" }, runs: STALE, then: OURS },
  "it is gone": { fault: { does: "gone" }, runs: STALE, then: OURS },
  "it is a folder": { fault: { does: "folder" }, runs: STALE, then: OURS },
  "it is a pipe that nobody writes to": { fault: { does: "pipe" }, runs: STALE, then: OURS },
  "the leaf is not in it": { fault: { does: "otherLeaf" }, runs: STALE, then: OURS },
  "it was replaced by a copy of itself": { fault: { does: "newFile" }, runs: BY_FILE, then: OURS },
  "it is cut and made whole again while it is read": { fault: { does: "rewrittenMeanwhile" }, runs: "either", then: OURS },
  "another Pi has appended to it": { fault: { does: "grown", with: JSON.stringify(ELSEWHERE) }, runs: BY_FILE, then: OURS },
};

const MACHINE = {
  "no memory": { fault: { does: "noMemory" }, then: PIS(/had no answer to session_before_compact: it (was ended by SIG|ended with status)/) },
  "killed, as by a machine without memory": { fault: { does: "killed" }, then: PIS(/ended by SIGKILL/) },
  "nothing is answered": { fault: { does: "nothingAnswered" }, then: PIS(/not a reply/) },
  "half a reply": { fault: { does: "halfAnswered" }, then: PIS(/not a reply/) },
  "a slow disk: the limit holds": { fault: { does: "slow", limitMs: 800 }, killed: true, then: PIS(/longer than its time limit/) },
  "a disk that stands still: the limit holds": { fault: { does: "standsStill", limitMs: 800 }, killed: true, then: PIS(/longer than its time limit/) },
  "killed, for somebody who wants no model call": { fault: { does: "killed" }, env: { PI_STET_ON_FAILURE: "cancel" }, then: NOBODYS(/ended by SIGKILL.*cancelled, as PI_STET_ON_FAILURE says/) },
  "the clock of the binary is a day behind": { fault: { does: "dayBefore" }, runs: BY_FILE, then: OURS },
};

for (const [where, rows] of Object.entries({ "the session file": SESSION_FILE, "the machine": MACHINE })) {
  for (const [name, row] of Object.entries(rows)) {
    test(`${where}: ${name}`, (t) => runRow(t, row));
  }
}

async function runRow(t, { fault, env, other, runs, killed, then }) {
  const chat = await openMeddled(t, { env, fault: { limitMs: fault.limitMs } });
  await talk(chat, "rain");
  chat.meddle(other ? { ...fault, with: await otherSession(t) } : fault);
  const warned = chat.notices("warning").length;
  const started = performance.now();
  await compact(chat, then.whose);
  if (fault.limitMs) assert.ok(performance.now() - started < fault.limitMs + 3000, "Pi did not wait for it");
  assertRan(chat.meddled(), { runs, killed });
  await assertLanded(chat, then, chat.notices("warning").slice(warned));
  chat.meddle({});
  await chat.user("What now?", ["Now we go on."]);
  assertWellFormed(lastRequest(chat));

  // And once the fault has gone, the next compaction is ours, with all there is.
  await talk(chat, "snow");
  await chat.compact();
  await chat.user("And now?", ["On and on."]);
  await assertCheckpoints(chat, { count: then.whose === "ours" ? 2 : 1, summariserCalls: then.whose === "Pi's" ? 1 : 0 });
  await assertNothingLost(chat);
}

async function compact(chat, whose) {
  if (whose === "nobody's") return assert.rejects(chat.compact(), /cancelled/);
  if (whose === "Pi's") chat.summariserSays({ history: PI_SUMMARY });
  await chat.compact();
}

function assertRan(meddled, { runs, killed }) {
  const ran = meddled.map(({ by, error }) => ({ by, error }));
  if (runs === "either") assert.ok([BY_FILE, STALE].some((expected) => isDeepStrictEqual(ran, expected)), JSON.stringify(ran));
  else if (runs) assert.deepEqual(ran, runs);
  else assert.equal(ran.length, killed ? 0 : 1, "it ran once, or was ended before its end");
}

async function assertLanded(chat, { whose, notice }, warnings) {
  const compactions = (await chat.branch()).filter(isCompaction);
  if (notice) assert.match(warnings[0], notice);
  assert.equal(warnings.length, notice ? 1 : 0, JSON.stringify(warnings));
  assert.equal(compactions.length, whose === "nobody's" ? 0 : 1);
  if (whose === "ours") await assertCheckpoints(chat, { count: 1, continued: false });
  if (whose === "Pi's") assert.ok(compactions[0].summary.startsWith(PI_SUMMARY), compactions[0].summary);
}

async function otherSession(t) {
  const other = await openChat(t);
  await other.user("Said in the other session.", ["Heard there."]);
  return other.sessionFile();
}
