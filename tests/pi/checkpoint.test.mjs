// The checkpoint method: the model's own note, a digest of what it does not know.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { openChat, prose } from "./chat.mjs";
import { assertContinues } from "./expect.mjs";
import { bash, Conversation, isAssistant, isUser } from "./harness/conversation.mjs";
import { filesBelow } from "./harness/harness.mjs";
import {
  assertHeld,
  assertQuiet,
  command,
  compactNoted,
  fileOf,
  hasSection,
  hasTool,
  lastRequest,
  lastText,
  note,
  runs,
  section,
  sessionId,
} from "./noted.mjs";

const METHOD = { PI_STET_METHOD: "checkpoint" };
const keepThis = (chat) => chat.user(prose("the kept question", 800), [prose("the kept answer", 800)]);
const goOn = (chat) => chat.user("What now?", ["Now we go on."]);
const work = (chat, request, answer = "Done.") =>
  chat.user(request, [{ say: "I look.", calls: [bash("cat medium.txt"), bash("sh fail.sh")] }, answer]);

/** What the person asked before the kept part. */
const asks = async (chat, compaction) => {
  const branch = await chat.branch();
  const end = branch.findIndex((entry) => entry.id === compaction.firstKeptEntryId);
  return branch.slice(0, end).filter(isUser);
};

test("five turns without the tool: the first goal and every later instruction are there", async (t) => {
  const chat = await openChat(t, { env: METHOD });
  const said = [
    "Build a parser for the log format.\n\n    keep   this   layout",
    "Never touch prod.",
    "Answer in French from now on.",
    `A long request. ${prose("its many details", 1500)}`,
    "And write tests for it.",
  ];
  for (const text of said) await work(chat, text);
  await keepThis(chat);
  const compaction = await compactNoted(chat);
  await goOn(chat);

  assert.equal(compaction.details.tier, 2);
  const asked = await asks(chat, compaction);
  assert.equal(asked.length, 5);
  for (const entry of asked.filter((_, i) => i !== 3)) assertHeld(compaction.summary, entry);
  assert.ok(compaction.summary.includes(`whole in entry ${asked[3].id}`), "the long one goes by its id");
  const digest = section(compaction.summary, "digest");
  assert.match(digest, /^Happened: 5 requests, 10 assistant steps, 10 tool calls \(5 failed\)\./);
  assert.match(digest, /\[TOOL-ERROR\] bash sh fail\.sh: failing output/);
  assert.ok(lastText(chat).includes(said[1]), "the model has it in view");
  assert.ok(!lastText(chat).includes("medium output, line 30"), "outputs are gone");
  assert.equal(chat.ws.llm.summariserCalls().length, 0);
  assert.match(chat.notices().at(-1), /to a digest \(there was no checkpoint\).*no model call/);
  assertQuiet(chat);

  // And again: what the first compaction carried is carried on.
  await work(chat, "One more thing.");
  await keepThis(chat);
  const second = await compactNoted(chat);
  for (const entry of await asks(chat, second)) {
    if (entry.id !== asked[3].id) assertHeld(second.summary, entry);
    else assert.ok(second.summary.includes(entry.id));
  }
  assertQuiet(chat);
});

test("the model's text stands word for word thirty turns later, and no model is asked", async (t) => {
  const chat = await openChat(t, { env: METHOD });
  const text = "## GOAL\nship  it\n\n\t- done: 漢字 👨‍👩‍👧‍👦\n\n## NEXT\n</checkpoint> is no end";
  await chat.user("Build it.", [{ say: "I note it.", calls: [note(text)] }, "Noted."]);
  const id = await sessionId(chat);
  assert.ok(fileOf(chat, id).text.includes(`\n${text}\n`), "the file has it as well");
  for (let turn = 1; turn <= 30; turn += 1) await chat.user(`Request ${turn}.`, [`Answer ${turn}.`]);
  assert.ok(fileOf(chat, id).text.includes(`\n${text}\n`));
  assert.equal(fileOf(chat, id).text.match(/^## Recent activity$/gm).length, 1);
  await keepThis(chat);
  const compaction = await compactNoted(chat);
  await goOn(chat);
  assert.equal(section(compaction.summary, "checkpoint"), text);
  assert.equal(compaction.details.tier, 2);
  for (const entry of await asks(chat, compaction)) assertHeld(compaction.summary, entry);
  assert.ok(lastText(chat).includes(text));
  assert.match(chat.notices().at(-1), /checkpoint and a digest of what came after it.*no model call/);
  assertQuiet(chat);
});

test("a note that covers all work stands for it", async (t) => {
  const chat = await openChat(t, { env: METHOD });
  await work(chat, "Build it.");
  await chat.user("Note where we are.", [{ calls: [note("ALL IS DONE")] }, prose("the kept answer", 1300)]);
  const compaction = await compactNoted(chat);
  await goOn(chat);
  assert.equal(compaction.details.tier, 1);
  assert.equal(section(compaction.summary, "digest"), undefined);
  assert.match(chat.notices().at(-1), /from the model's checkpoint: /);
  assertQuiet(chat);
});

test("/compact with instructions is left to a model, and the person is told", async (t) => {
  const chat = await openChat(t, { env: METHOD });
  await chat.user("Build it.", [{ calls: [note("THE NOTE")] }, "Noted."]);
  await keepThis(chat);
  chat.summariserSays({ history: "Pi's own summary, which minds the units." });
  await chat.compact("mind the units");
  assert.equal(chat.ws.llm.summariserCalls().length, 1);
  assert.ok(chat.notices().some((notice) => /a model writes this summary/.test(notice)));
  await goOn(chat);
  // The next one carries its beginning, by name.
  await keepThis(chat);
  const compaction = await compactNoted(chat);
  assert.match(section(compaction.summary, "carried"), /\[STATE-CARRIED\] Pi's own summary, which minds the units\./);
  assert.equal(section(compaction.summary, "checkpoint"), "THE NOTE");
  assertQuiet(chat);
});

test("a split turn with only a prefix costs no model call", async (t) => {
  const chat = await openChat(t, { env: METHOD });
  await chat.user("One request and a long way to its answer.", [
    { say: "First step.", calls: [bash("cat small.txt")] },
    { say: "Second step.", calls: [bash("cat medium.txt"), bash("sh fail.sh")] },
    prose("the answer at last", 1300),
  ]);
  const compaction = await compactNoted(chat);
  await goOn(chat);
  const prepared = chat.preparations().get(compaction.id);
  assert.equal(prepared.isSplitTurn, true);
  assert.equal(prepared.messagesToSummarize.length, 0);
  const [, prefix] = section(compaction.summary, "digest").split("**Turn Context (split turn):**\n");
  assert.match(prefix, /^\[USER \w+\] One request and a long way to its answer\.\n\[ASSISTANT\] First step\./);
  assertQuiet(chat);
});

test("an automatic compaction in the middle of a run", async (t) => {
  const chat = await openChat(t, { env: METHOD, window: 12_000, reserve: 4000 });
  await chat.user("Never touch prod.", [{ calls: [note("THE NOTE")] }, "Noted."]);
  await chat.user("Read a lot.", [
    { say: "First.", calls: [bash("cat medium.txt medium.txt medium.txt medium.txt medium.txt")] },
    { say: "Second.", calls: [bash("cat medium.txt medium.txt medium.txt medium.txt medium.txt")] },
    { say: "Third.", calls: [bash("cat medium.txt medium.txt medium.txt medium.txt medium.txt")] },
    "All read.",
  ]);
  const compactions = await chat.compactions();
  assert.ok(compactions.length > 0, "Pi compacted by itself");
  for (const { details, summary } of compactions) {
    assert.equal(details.kind, "stet.checkpoint");
    assert.equal(section(summary, "checkpoint"), "THE NOTE");
    assert.ok(summary.includes("Never touch prod."));
  }
  assert.equal(chat.ws.llm.summariserCalls().length, 0);
  assertQuiet(chat);
});

test("fork, tree and resume: the note goes with the branch", async (t) => {
  const chat = await openChat(t, { env: METHOD });
  await chat.user("Build it.", [{ calls: [note("FIRST NOTE")] }, "Noted."]);
  const here = await chat.leaf();
  await chat.user("Try another way.", [{ calls: [note("NOTE OF THE OTHER WAY")] }, "Noted."]);
  const id = await sessionId(chat);
  assert.match(fileOf(chat, id).text, /NOTE OF THE OTHER WAY/);

  // Tree: back to before the second note.
  await chat.helper(`tree ${here}`);
  await keepThis(chat);
  assert.match(fileOf(chat, id).text, /\nFIRST NOTE\n/, "the file follows at the end of the turn");
  const first = await compactNoted(chat);
  assert.equal(section(first.summary, "checkpoint"), "FIRST NOTE");
  await goOn(chat);

  // Resume: a new process, the same requests.
  const before = lastRequest(chat);
  await chat.resume();
  await chat.user("After the restart.", ["Yes."]);
  assertContinues(chat, before, lastRequest(chat));
  assert.ok(hasTool(lastRequest(chat)) && hasSection(lastRequest(chat)));

  // Fork: another session, the same branch up to there.
  const left = await chat.newest(isUser);
  await chat.pi.send({ type: "fork", entryId: left.id });
  const fork = await sessionId(chat);
  assert.notEqual(fork, id);
  await keepThis(chat);
  assert.match(fileOf(chat, fork).text, /\nFIRST NOTE\n/, "a file of its own");
  await keepThis(chat);
  const inFork = await compactNoted(chat);
  assert.equal(section(inFork.summary, "checkpoint"), "FIRST NOTE");
  assertQuiet(chat);
});

test("two Pi processes on one session leave a whole file, each with its own branch", async (t) => {
  const chat = await openChat(t, { env: METHOD });
  await chat.user("Build it.", [{ calls: [note("THE NOTE OF BOTH")] }, "Noted."]);
  const id = await sessionId(chat);
  const file = await chat.sessionFile();
  const other = new Conversation(chat.ws, { ...chat.options, args: ["--session", file] });
  t.after(() => other.close());
  chat.ws.llm.addRule({ when: { lastUserIncludes: "from" }, reply: { text: "Answered." } });
  for (let round = 0; round < 5; round += 1) {
    await Promise.all([chat.pi.prompt(`Request ${round} from one.`), other.pi.prompt(`Request ${round} from two.`)]);
    const { text, mode } = fileOf(chat, id);
    assert.equal(mode, 0o600);
    assert.match(text, /^<!-- stet:checkpoint \{.*\} -->\nTHE NOTE OF BOTH\n\n<!-- stet:activity \{.*\} -->\n/);
    assert.ok(text.endsWith("\n"));
  }
  const names = filesBelow(join(chat.ws.agentDir, "checkpoints"));
  assert.equal(names.length, 1, `no temporary file is left: ${names}`);
  for (const each of [chat, other]) {
    await each.user(prose("the kept question", 800), [prose("the kept answer", 800)]);
    await each.compact();
    const compaction = (await each.branch()).findLast((entry) => entry.type === "compaction");
    assert.equal(section(compaction.summary, "checkpoint"), "THE NOTE OF BOTH");
    assertQuiet(each);
  }
});

test("tool, prompt section and turn_end are there only while a checkpoint is kept", async (t) => {
  const log = "runs.jsonl";
  const chat = await openChat(t, { env: { PI_STET_LOG: log } });
  const logFile = join(chat.ws.cwd, log);
  const state = async (request, turns) => {
    const before = await runs(logFile);
    await chat.user(request, turns);
    const after = await runs(logFile);
    const started = Object.entries(after).flatMap(([event, n]) => Array(n - (before[event] ?? 0)).fill(event));
    return { tool: hasTool(lastRequest(chat)), section: hasSection(lastRequest(chat)), started };
  };
  const off = { tool: false, section: false, started: [] };
  const on = (turns) => ({ tool: true, section: true, started: Array(turns).fill("turn_end") });
  await command(chat, "checkpoint");
  assert.deepEqual(await state("In the verbatim method.", ["Yes."]), off);

  await command(chat, "compaction-method checkpoint");
  assert.ok(chat.notices().some((notice) => /less than the words themselves/.test(notice)), "the guarantee weakens");
  assert.deepEqual(await state("In the checkpoint method.", ["Yes."]), on(1));
  const two = await state("Two turns.", [{ say: "First.", calls: [bash("true")] }, "Second."]);
  assert.deepEqual(two, on(2), "one process for each turn, none for the prompt");

  await command(chat, "compaction-method summary");
  assert.deepEqual(await state("In Pi's method.", ["Yes."]), off);
  await command(chat, "compaction-method verbatim");
  assert.deepEqual(await state("Back.", ["Yes."]), off);
  await command(chat, "checkpoint on");
  assert.deepEqual(await state("With a checkpoint.", ["Yes."]), on(1));
  const kept = await chat.leaf();
  await command(chat, "checkpoint off");
  assert.deepEqual(await state("And without.", ["Yes."]), off);

  // Pi restores tools when the tree moves; the branch says what holds.
  await chat.helper(`tree ${kept}`);
  assert.deepEqual(await state("Back on the branch that has it.", ["Yes."]), on(1));
  await chat.resume();
  await command(chat, "checkpoint");
  assert.deepEqual(await state("After a restart.", ["Yes."]), on(1));
  assertQuiet(chat);
});

test("/checkpoint on in the verbatim method: a fresh note stands in the checkpoint", async (t) => {
  const chat = await openChat(t);
  await command(chat, "checkpoint on");
  await work(chat, "Build it.");
  const text = "GOAL: ship it\n\n  NEXT: the tests";
  await chat.user("Note it.", [{ calls: [note(text)] }, prose("the kept answer", 1300)]);
  await chat.compact();
  await goOn(chat);
  const [compaction] = await chat.compactions();
  assert.equal(compaction.details.kind, "stet.verbatim");
  assert.equal(section(compaction.summary, "working-state"), text);
  assert.match(compaction.summary, /\n<working-state written-by="model" at="[^"]+" entry="\w+">\n/);
  assert.ok(lastText(chat).includes(text));

  // With newer work it is no longer fresh, and does not stand there.
  await work(chat, "Go on.");
  await keepThis(chat);
  await chat.compact();
  assert.equal(section((await chat.compactions()).at(-1).summary, "working-state"), undefined);
  assert.equal(chat.ws.llm.summariserCalls().length, 0);
  assertQuiet(chat);
});

test("through all six changes of the method nothing that was promised is lost", async (t) => {
  const chat = await openChat(t);
  const words = (round) => `Request of round ${round}.`;
  let round = 0;
  async function during(method, { warns }) {
    round += 1;
    const before = chat.notices().length;
    await command(chat, `compaction-method ${method}`);
    const warned = chat.notices().slice(before).join("\n");
    if (warns) assert.match(warned, warns, `to ${method}`);
    await work(chat, words(round), `Answer of round ${round}.`);
    await keepThis(chat);
    if (method === "summary") chat.summariserSays({ history: `MODEL SUMMARY ${round}` });
    await chat.compact();
    await goOn(chat);
    return (await chat.compactions()).at(-1);
  }
  const spans = (summary) => [...summary.matchAll(/\[User\]: (Request of round \d+\.)/g)].map(([, text]) => text);

  const first = await during("verbatim", {});
  assert.deepEqual(spans(first.summary), [1].map(words));
  const second = await during("checkpoint", { warns: /less than the words themselves/ });
  for (const entry of (await chat.branch()).filter(isUser).slice(0, 1)) assertHeld(second.summary, entry);
  const third = await during("verbatim", { warns: /puts back word for word/ });
  assert.deepEqual(spans(third.summary), [1, 2, 3].map(words), "spans are made of the raw entries");
  for (const n of [1, 2, 3]) assert.ok(third.summary.includes(`[Assistant]: Answer of round ${n}.`));
  const fourth = await during("summary", { warns: /no longer word for word/ });
  assert.match(fourth.summary, /^MODEL SUMMARY 4/);
  const fifth = await during("checkpoint", { warns: /a model wrote/ });
  assert.match(section(fifth.summary, "carried"), /\[STATE-CARRIED\] MODEL SUMMARY 4/);
  await during("summary", { warns: /no longer word for word/ });
  const seventh = await during("verbatim", { warns: /not word for word/ });
  assert.match(section(seventh.summary, "compacted-base"), /^MODEL SUMMARY 6/);
  assert.deepEqual(spans(seventh.summary), [7].map(words));
  assert.equal(chat.ws.llm.summariserCalls().length, 2, "only Pi's own method asks a model");
  // And with a rebuild the raw entries take the place of what models wrote.
  await command(chat, "compaction-method verbatim rebuild");
  const eighth = await during("verbatim", {});
  assert.deepEqual(spans(eighth.summary), [1, 2, 3, 4, 5, 6, 7, 8].map(words));
  assertQuiet(chat);
});

test("--no-session: everything works, and no file is written", async (t) => {
  const chat = await openChat(t, { env: METHOD, args: ["--no-session"] });
  await chat.user("Build it.", [{ calls: [note("IN MEMORY ONLY")] }, "Noted."]);
  await work(chat, "Never touch prod.");
  await keepThis(chat);
  const compaction = await compactNoted(chat);
  await goOn(chat);
  assert.equal(section(compaction.summary, "checkpoint"), "IN MEMORY ONLY");
  assert.ok(compaction.summary.includes("Never touch prod."));
  assert.ok(!existsSync(join(chat.ws.agentDir, "checkpoints")));
  assertQuiet(chat);
});

/** A session file of one exchange, as Pi writes it, with an id of our choice. */
function sessionNamed(id) {
  const time = "2026-01-05T09:00:00.000Z";
  const at = Date.parse(time);
  const user = { role: "user", content: [{ type: "text", text: "Hello." }], timestamp: at };
  const usage = { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2 };
  const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
  const assistant = {
    role: "assistant",
    content: [{ type: "text", text: "Hello!" }],
    api: "openai-completions",
    provider: "fake",
    model: "fake-1",
    usage: { ...usage, cost },
    stopReason: "stop",
    timestamp: at,
  };
  return [
    { type: "session", version: 3, id, timestamp: time, cwd: "{{cwd}}" },
    { type: "message", id: "a0000001", parentId: null, timestamp: time, message: user },
    { type: "message", id: "a0000002", parentId: "a0000001", timestamp: time, message: assistant },
  ]
    .map((entry) => `${JSON.stringify(entry)}\n`)
    .join("");
}

test("a session whose id leads out of the folder: no file, one notice, and the note counts", async (t) => {
  // From the checkpoints' folder to the project's.
  const id = ["..", "..", "work", "AGENTS"].join("/");
  const chat = await openChat(t, { env: METHOD, session: sessionNamed(id) });
  assert.equal(await sessionId(chat), id, "Pi takes it as it is");
  writeFileSync(join(chat.ws.cwd, "AGENTS.md"), "Rules of the project.");
  await chat.user("Build it.", [{ calls: [note("THE NOTE")] }, "Noted."]);
  await keepThis(chat);
  await goOn(chat);
  assert.equal(readFileSync(join(chat.ws.cwd, "AGENTS.md"), "utf8"), "Rules of the project.");
  assert.ok(!existsSync(join(chat.ws.agentDir, "checkpoints")));
  const told = chat.notices().filter((notice) => /is no session id that Pi would give/.test(notice));
  assert.equal(told.length, 1, JSON.stringify(chat.notices()));
  const compaction = await compactNoted(chat);
  assert.equal(section(compaction.summary, "checkpoint"), "THE NOTE");
  assertQuiet(chat);
});

test("a symbolic link in the file's place is left alone", async (t) => {
  const chat = await openChat(t, { env: METHOD });
  await chat.user("Hello.", ["Hello!"]);
  const { path } = fileOf(chat, await sessionId(chat));
  const target = join(chat.ws.root, "mine.md");
  writeFileSync(target, "mine");
  rmSync(path);
  symlinkSync(target, path);
  await chat.user("Build it.", [{ calls: [note("THE NOTE")] }, "Noted."]);
  assert.equal(readFileSync(target, "utf8"), "mine");
  const result = (await chat.branch()).findLast((entry) => entry.message?.toolName === "checkpoint_update");
  assert.equal(result.message.isError, false, "the note counts all the same");
  assert.match(result.message.content[0].text, /not a plain file/);
  await keepThis(chat);
  assert.equal(section((await compactNoted(chat)).summary, "checkpoint"), "THE NOTE");
});

test("a full disk: the note counts, the old file stays whole, and there is one notice (needs the right to mount)", async (t) => {
  const chat = await openChat(t, { env: METHOD });
  const folder = join(chat.ws.agentDir, "checkpoints");
  mkdirSync(folder, { mode: 0o700 });
  const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=64k,mode=700", "small", folder]);
  if (mounted.status !== 0) return t.skip(`needs the right to mount: ${mounted.stderr}`);
  try {
    await chat.user("Build it.", [{ calls: [note("THE FIRST NOTE")] }, "Noted."]);
    const id = await sessionId(chat);
    const before = fileOf(chat, id).text;
    // What is left of the disk goes to somebody else.
    assert.throws(() => {
      for (let n = 0; ; n += 1) writeFileSync(join(folder, `other-${n}`), "x".repeat(4096));
    }, /ENOSPC/);
    await chat.user("Go on.", [{ calls: [note(`THE SECOND NOTE ${prose("with much to say", 5900)}`)] }, "Noted."]);
    await goOn(chat);
    assert.equal(fileOf(chat, id).text, before, "the old file is whole");
    const result = (await chat.branch()).findLast((entry) => entry.message?.toolName === "checkpoint_update");
    assert.equal(result.message.isError, false);
    assert.match(result.message.content[0].text, /could not be written.*the session has it/);
    assert.equal(chat.notices().filter((notice) => /No space left/.test(notice)).length, 1, "told once, not every turn");
    await keepThis(chat);
    assert.match(section((await compactNoted(chat)).summary, "checkpoint"), /^THE SECOND NOTE/);
  } finally {
    // Before the workspace goes, which the chat does by itself.
    spawnSync("umount", ["--lazy", folder]);
  }
});

test("a file of the older extension is an anchor, and stays", async (t) => {
  const session = sessionNamed("0199a000-0000-7000-8000-000000000001");
  const chat = await openChat(t, { env: METHOD, session });
  const folder = join(chat.ws.agentDir, "checkpoints");
  mkdirSync(folder, { recursive: true });
  const activity = "## Recent activity [harness-recorded, turn 3, 2026-01-05T09:00:00.000Z]\n[USER] Hello.\n";
  const path = join(folder, "0199a000-0000-7000-8000-000000000001.md");
  writeFileSync(path, `## GOAL\nthe older goal\n\n${activity}`);
  await work(chat, "Never touch prod.");
  await keepThis(chat);
  const compaction = await compactNoted(chat);
  assert.equal(compaction.details.tier, 2);
  assert.equal(section(compaction.summary, "checkpoint"), "## GOAL\nthe older goal");
  assert.ok(compaction.summary.includes("Never touch prod."));
  assert.match(readFileSync(path, "utf8"), /"author":"older extension".*\n## GOAL\nthe older goal\n/);
  assertQuiet(chat);
});

test("the tool of the model and the command of the person", async (t) => {
  const chat = await openChat(t, { env: METHOD });
  await command(chat, "checkpoint");
  assert.match(chat.notices().at(-1), /no checkpoint on this branch yet/);
  await chat.user("Build it.", [
    { calls: [note("  ")] },
    { calls: [note("x".repeat(6100))] },
    { calls: [note("THE NOTE"), bash("cat small.txt")] },
    "Noted.",
  ]);
  const results = (await chat.branch()).filter((entry) => entry.message?.toolName === "checkpoint_update");
  assert.deepEqual(
    results.map(({ message }) => message.isError),
    [true, false, false],
  );
  assert.match(results[1].message.content[0].text, /6,100; what is beyond 6,000 is not carried/);
  await command(chat, "checkpoint");
  const shown = chat.notices().at(-1);
  assert.ok(shown.includes("THE NOTE") && shown.includes("1 message of work came after it"), shown);
  assert.ok(shown.includes(fileOf(chat, await sessionId(chat)).path), shown);
  assert.ok((await chat.branch()).findLast(isAssistant));
  assertQuiet(chat);
});
