// Where the session lives and how it is moved about.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import test from "node:test";
import { openChat, prose } from "./chat.mjs";
import { spansOf } from "./checkpoint.mjs";
import { assertCheckpoints, assertResumes } from "./expect.mjs";
import { bash, isAssistant, isUser } from "./harness/conversation.mjs";
import { filesBelow, readSession, REPO_DIR } from "./harness/harness.mjs";

const firstWork = (chat, topic = "rain") =>
  chat.user(`Look at the files for ${topic}.`, [
    {
      think: `Thinking about ${topic} only.`,
      say: `I look at ${topic}.`,
      calls: [bash(`sed s/medium/${topic}/ medium.txt`), bash("sh fail.sh")],
    },
    `The files for ${topic} are read.`,
  ]);
const keepThis = (chat, topic = "rain") =>
  chat.user(prose(`the kept question about ${topic}`, 800), [prose(`the kept answer about ${topic}`, 800)]);

test("--no-session: in memory only, twice", async (t) => {
  const chat = await openChat(t, { args: ["--no-session"] });
  for (const topic of ["rain", "snow"]) {
    await firstWork(chat, topic);
    await keepThis(chat, topic);
    await chat.compact();
    await chat.user(`And after ${topic}?`, ["We go on."]);
  }
  await assertCheckpoints(chat, { count: 2 });
  assert.equal((await chat.state()).sessionFile, undefined);
  assert.deepEqual(
    filesBelow(chat.ws.root, ".jsonl").filter((file) => file !== chat.oracleLog),
    [],
    "no session file",
  );
});

test("--session-dir: the file lies where the user wants it", async (t) => {
  const chat = await openChat(t, { args: ["--session-dir", "sessions-of-mine"] });
  await firstWork(chat);
  await keepThis(chat);
  await chat.compact();
  await chat.user("What now?", ["Now we go on."]);
  // Pi gives the folder as the user wrote it: relative to where Pi runs.
  const file = resolve(chat.ws.cwd, await chat.sessionFile());
  assert.equal(dirname(file), join(chat.ws.cwd, "sessions-of-mine"));
  await assertCheckpoints(chat, { count: 1 });
  await assertResumes(chat, { count: 1, args: ["--session-dir", "sessions-of-mine"] });
});

test("a fork before and after its own compaction", async (t) => {
  const chat = await openChat(t);
  await firstWork(chat);
  await keepThis(chat);
  await chat.compact();
  await chat.user("This message is left behind by the fork.", ["So is this answer."]);
  const left = await chat.newest(isUser);
  const parent = await chat.sessionFile();

  await chat.pi.send({ type: "fork", entryId: left.id });
  const fork = await chat.sessionFile();
  assert.notEqual(fork, parent);
  await firstWork(chat, "snow");
  await keepThis(chat, "snow");
  await chat.compact();
  await chat.user("What now?", ["Now we go on in the fork."]);
  assert.equal(readSession(fork)[0].parentSession, parent);
  const checked = await assertCheckpoints(chat, { count: 2 });
  assert.ok(!checked[1].entry.summary.includes("left behind"));
  await assertResumes(chat, { count: 2 });
});

test("a tree move: the leaf is not the last line", async (t) => {
  const chat = await openChat(t);
  await firstWork(chat, "rain");
  const fork = await chat.leaf();
  await keepThis(chat, "rain");
  const here = await chat.leaf();
  await chat.helper(`tree ${fork}`);
  await chat.user("A branch that is abandoned.", [
    { say: "I look anyway.", calls: [bash("sed s/medium/other/ medium.txt")] },
    prose("the abandoned answer", 1200),
  ]);
  await chat.helper(`tree ${here}`);
  assert.equal(await chat.leaf(), here);
  assert.notEqual(readSession(await chat.sessionFile()).at(-1).id, here, "the leaf is not the last line");

  await chat.compact();
  await chat.user("What now?", ["Now we go on, on the first branch."]);
  const [{ entry, prepared }] = await assertCheckpoints(chat, { count: 1 });
  assert.equal(prepared.leafId, here);
  assert.ok(!entry.summary.includes("abandoned"), "nothing of the other branch is in the checkpoint");
  await assertResumes(chat, { count: 1 });
});

test("a tree move to before a compaction, and another compaction there", async (t) => {
  const chat = await openChat(t);
  await firstWork(chat, "rain");
  await keepThis(chat, "rain");
  const here = await chat.leaf();
  await chat.compact();
  await chat.user("On the compacted branch.", ["Yes."]);
  await chat.helper(`tree ${here}`);
  await firstWork(chat, "snow");
  await keepThis(chat, "snow");
  await chat.compact();
  await chat.user("What now?", ["Now we go on, on the second branch."]);
  const [{ entry }] = await assertCheckpoints(chat, { count: 1 });
  assert.equal(spansOf(entry.summary).length, 1, "the compaction of the other branch does not count here");
  await assertResumes(chat, { count: 1 });
});

test("a tree move with a summary of the branch that is left", async (t) => {
  const chat = await openChat(t);
  await firstWork(chat, "rain");
  const here = await chat.newest(isAssistant);
  await chat.user("Let us try something else.", ["It leads nowhere."]);
  chat.summariserSays({ history: "## Goal\nSomething else was tried and led nowhere." });
  await chat.helper(`tree ${here.id} summarize`);
  await keepThis(chat, "snow");
  await chat.compact();
  await chat.user("What now?", ["Now we go on."]);
  const [{ span }] = await assertCheckpoints(chat, { count: 1, summariserCalls: 1 });
  assert.match(span.text, /^\[Branch summary\]: /m);
  assert.ok(span.text.includes("Something else was tried and led nowhere."));
  await assertResumes(chat, { count: 1, summariserCalls: 1 });
});

// Sessions recorded from real Pi, opened again by real Pi and compacted there.
const SESSIONS = join(REPO_DIR, "testdata", "sessions");
for (const name of readdirSync(SESSIONS).filter((file) => file.endsWith(".jsonl"))) {
  test(`the recorded session ${name}`, async (t) => {
    const session = readFileSync(join(SESSIONS, name), "utf8").replaceAll("/home/dev/weather", "{{cwd}}");
    const chat = await openChat(t, { session, keep: 150 });
    await chat.compact();
    await chat.user("Where were we?", [
      { say: "Let me look.", calls: [bash("cat small.txt")] },
      prose("where we were", 3000),
    ]);
    await chat.compact("the second time");
    await chat.user("And now?", ["Now we go on."]);
    await assertCheckpoints(chat, { count: 2 });
  });
}
