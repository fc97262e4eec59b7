// The message after a compaction that tells the model what it has in view: where it
// stands in the requests that Pi sent, how often, and what it must not cause.
import assert from "node:assert/strict";
import { appendFileSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { setTimeout } from "node:timers/promises";
import { openChat, prose } from "./chat.mjs";
import { bash, isAssistant, isCompaction, isToolResult, isUser } from "./harness/conversation.mjs";
import { readSession } from "./harness/harness.mjs";
import { textOf } from "./harness/server.mjs";
import { startPiTerminal } from "./harness/terminal.mjs";
import {
  assertContinuesFrom,
  assertOneConversation,
  assertOriented,
  keepThis,
  OVERFLOW,
  OVERLOADED,
  placesIn,
  requestsWith,
  saved,
  savedFor,
  TEXT,
  TYPE,
  work,
} from "./orientation.mjs";

/** Windows of 16000 with 4000 in reserve: one huge output is more than the other 12000. */
const SMALL_WINDOW = { window: 16_000, reserve: 4000 };

/** A conversation that has just been compacted by hand. */
async function compacted(t, options) {
  const chat = await openChat(t, options);
  await work(chat);
  await keepThis(chat);
  await chat.compact();
  const [compaction] = await chat.compactions();
  return { chat, compaction };
}

const requestsSoFar = (chat) => chat.ws.llm.requests().length;

test("a compaction by hand: nothing happens until the next prompt", async (t) => {
  const { chat, compaction } = await compacted(t);
  const before = requestsSoFar(chat);
  assert.deepEqual(await savedFor(chat), [], "nothing was added");
  assert.ok(isCompaction((await chat.branch()).at(-1)));

  await work(chat, "snow");
  await chat.user("And then?", ["We go on."]);
  assert.equal(requestsSoFar(chat), before + 3);
  const [requests] = await assertOriented(chat);
  assert.equal(requests.length, 3);
  assert.equal(textOf(requests[0].body.messages.at(-2).content), "Look at the files for snow.", "after the pending input");

  const branch = await chat.branch();
  const [entry, ...more] = saved(branch);
  assert.deepEqual(more, []);
  assert.deepEqual(entry.details, { compactionId: compaction.id });
  assert.equal(entry.content, TEXT);
  assert.ok(isUser(branch[branch.indexOf(entry) - 1]), "it is saved where the model met it");
});

test("a session without a compaction starts no process for it", async (t) => {
  const log = join(tmpdir(), `orientation-${process.pid}.log`);
  t.after(() => rmSync(log, { force: true }));
  const { chat } = await compacted(t, { env: { PI_STET_LOG: log } });
  await chat.user("What now?", ["Now we go on."]);
  // The extension writes the log in order, but nobody waits for it.
  const logged = () => readFileSync(log, "utf8").split("\n").filter(Boolean).map((line) => JSON.parse(line).event);
  for (let tries = 0; tries < 200 && logged().at(-1) !== "context_with_system"; tries += 1) await setTimeout(25);
  const events = logged();
  const end = events.indexOf("session_compact");
  assert.ok(events.slice(0, end).includes("session_start"));
  const its = (list) => list.filter((event) => /before_agent_start|context_with_system/.test(event));
  assert.deepEqual(its(events.slice(0, end)), []);
  assert.deepEqual(its(events.slice(end)), ["before_agent_start", "context_with_system"]);
});

test("threshold in the middle of a run, and again at its end", async (t) => {
  const chat = await openChat(t, { ...SMALL_WINDOW, keep: 1000 });
  await work(chat);
  await chat.user(prose("the second request", 2000), [prose("the second answer", 2000)]);
  await chat.user("Now the huge file.", [
    { say: "I print all of it.", calls: [bash("cat huge.txt")] },
    "The huge file has 1200 lines.",
  ]);
  const [first, second] = await chat.compactions();
  assert.deepEqual(await savedFor(chat), [first.id], "the one at the end of the run waits for the next one");
  const branch = await chat.branch();
  const at = branch.indexOf(branch.find((entry) => entry.id === first.id));
  assert.ok(isToolResult(branch[at - 1]), "the compaction came in the middle of the run");
  assert.deepEqual(saved([branch[at + 1]]).length, 1, "it is saved before the answer that followed");

  await chat.user("What now?", [{ say: "I look.", calls: [bash("cat small.txt")] }, "Now we go on."]);
  assert.deepEqual(await savedFor(chat), [first.id, second.id]);
  const [inRun, afterRun] = await assertOriented(chat);
  assert.equal(inRun.length, 1);
  assert.equal(inRun[0].body.messages.at(-2).role, "tool", "after the results");
  assert.equal(afterRun.length, 2);
});

test("threshold before a new prompt", async (t) => {
  const chat = await openChat(t, { ...SMALL_WINDOW, keep: 1000, autoCompaction: false });
  await chat.user("Look at the huge file.", [{ say: "I look.", calls: [bash("cat huge.txt")] }, "Many lines."]);
  await chat.user(prose("the second request", 3000), [prose("the second answer", 3000)]);
  await chat.pi.send({ type: "set_auto_compaction", enabled: true });
  await work(chat);
  const [requests] = await assertOriented(chat);
  assert.equal(requests.length, 2);
  assert.equal((await savedFor(chat)).length, 1);
});

test("overflow with a retry", async (t) => {
  const chat = await openChat(t, { window: 20_000 });
  await work(chat);
  await keepThis(chat);
  await chat.user("The request that is too long.", [OVERFLOW, { say: "It fitted.", calls: [bash("cat small.txt")] }, "Done."]);
  await chat.user("What now?", ["Now we go on."]);
  const [requests] = await assertOriented(chat);
  assert.equal(requests.length, 3);
  assert.equal(textOf(requests[0].body.messages.at(-2).content), "The request that is too long.");
  assert.equal((await savedFor(chat)).length, 1);
});

test("the first request fails and Pi repeats it", async (t) => {
  const { chat } = await compacted(t, { settings: { retry: { enabled: true, maxRetries: 3, baseDelayMs: 10 } } });
  await chat.user("What now?", [OVERLOADED, OVERLOADED, { say: "I look.", calls: [bash("cat small.txt")] }, "Done."]);
  const [requests] = await assertOriented(chat);
  assert.equal(requests.length, 4);
  const bodies = requests.slice(0, 3).map((request) => JSON.stringify(request.body.messages));
  assert.deepEqual(bodies, Array(3).fill(bodies[0]), "the repetitions are the same to the byte");
  assert.equal((await savedFor(chat)).length, 1);
});

test("the first request fails for good, or is aborted, and the user goes on", async (t) => {
  const { chat } = await compacted(t);
  await chat.user("What now?", [OVERLOADED]);
  await chat.userWhoAborts("And now?", [{ say: prose("an answer that is cut short", 2000), hang: 3 }]);
  await work(chat, "snow");
  const [requests] = await assertOriented(chat);
  assert.equal(requests.length, 4);
  assert.equal((await savedFor(chat)).length, 1);
});

test("three compactions with tails of twenty thousand tokens", async (t) => {
  const chat = await openChat(t, { keep: 20_000 });
  const talk = async (topic, rounds) => {
    for (let i = 1; i <= rounds; i += 1) {
      await chat.user(prose(`question ${i} about ${topic}`, 8000), [
        { say: `I look at ${topic}, ${i}.`, calls: [bash(`sed s/medium/${topic}${i}/ medium.txt`)] },
        prose(`answer ${i} about ${topic}`, 8000),
      ]);
    }
  };
  await talk("rain", 7);
  await chat.compact();
  for (const topic of ["snow", "hail", "fog"]) {
    await talk(topic, 3);
    await chat.compact("again");
  }
  await talk("wind", 1);

  const compactions = await chat.compactions();
  assert.equal(compactions.length, 4);
  const requests = await assertOriented(chat);
  assert.deepEqual(requests.map((group) => group.length), [6, 6, 6, 2]);
  assert.deepEqual(await savedFor(chat), compactions.map(({ id }) => id), "the session file keeps them all");
  const branch = await chat.branch();
  for (const compaction of compactions.slice(1)) {
    const kept = branch.slice(branch.findIndex(({ id }) => id === compaction.firstKeptEntryId), branch.findIndex(({ id }) => id === compaction.id));
    assert.equal(saved(kept).length, 1, "the tail held the one of the compaction before");
    assert.ok(!compaction.summary.includes(TYPE), "none has left a line in a span");
  }
});

test("resume, before the first prompt and later", async (t) => {
  const { chat } = await compacted(t);
  await chat.resume();
  await work(chat, "snow");
  await chat.resume();
  await chat.user("What now?", ["Now we go on."]);
  await chat.helper("reload");
  await chat.user("And after the reload?", [{ say: "I look.", calls: [bash("cat small.txt")] }, "Now we go on."]);
  const [requests] = await assertOriented(chat);
  assert.equal(requests.length, 5);
  assert.equal((await savedFor(chat)).length, 1);
});

test("--no-session", async (t) => {
  const { chat } = await compacted(t, { args: ["--no-session"] });
  await work(chat, "snow");
  await keepThis(chat, "snow");
  await chat.compact();
  await work(chat, "hail");
  const requests = await assertOriented(chat);
  assert.deepEqual(requests.map((group) => group.length), [3, 2]);
});

test("a fork before the message gets one of its own, a fork after it has it", async (t) => {
  const { chat, compaction } = await compacted(t);
  await chat.user("The first question after it.", ["The first answer."]);
  const first = await chat.newest(isUser);
  await chat.user("The second question.", ["The second answer."]);
  const second = await chat.newest(isUser);
  const parent = await chat.sessionFile();

  await chat.pi.send({ type: "fork", entryId: second.id });
  await chat.user("Another second question.", ["Another second answer."]);
  assert.deepEqual(await savedFor(chat), [compaction.id]);
  await chat.pi.send({ type: "switch_session", sessionPath: parent });
  await chat.pi.send({ type: "fork", entryId: first.id });
  assert.deepEqual(await savedFor(chat), []);
  await work(chat, "snow");
  assert.deepEqual(await savedFor(chat), [compaction.id]);

  const [one, two, three, ...four] = requestsWith(chat, compaction);
  assertOneConversation([one, two], "in the first session");
  assertOneConversation([one, three], "in the fork after it");
  assertOneConversation(four, "in the fork before it");
  assert.equal(four.length, 2);
});

test("tree moves to before the compaction, onto it, and past the message", async (t) => {
  const { chat, compaction } = await compacted(t);
  await chat.user("The first question after it.", ["The first answer."]);
  const answer = await chat.newest(isAssistant);
  await chat.user("The second question.", ["The second answer."]);

  const past = (await chat.branch()).find((entry) => isAssistant(entry));
  await chat.helper(`tree ${past.id}`);
  await chat.user("On a branch without the compaction.", ["Yes."]);
  assert.deepEqual(placesIn(chat.ws.llm.requests().at(-1)), []);
  assert.deepEqual(await savedFor(chat), []);

  await chat.helper(`tree ${compaction.id}`);
  await work(chat, "snow");
  assert.deepEqual(await savedFor(chat), [compaction.id], "this branch had none");

  await chat.helper(`tree ${answer.id}`);
  await chat.user("Another second question.", ["Another second answer."]);
  assert.deepEqual(await savedFor(chat), [compaction.id], "this branch had one");

  const [one, two, three, four, five] = requestsWith(chat, compaction);
  assertOneConversation([one, two], "on the first branch");
  assertOneConversation([three, four], "on the branch from the compaction");
  assertOneConversation([one, five], "on the branch from the first answer");
  assert.equal(saved((await chat.tree()).entries).length, 2);
});

test("messages that are not of the current compaction are gone from requests and stay in the file", async (t) => {
  const { chat, compaction } = await compacted(t);
  await chat.user("What now?", ["Now we go on."]);
  const [original] = saved(await chat.branch());
  const file = await chat.sessionFile();
  const leaf = await chat.leaf();
  await chat.close();
  const copy = (id, parentId, details) => `${JSON.stringify({ ...original, id, parentId, details })}\n`;
  appendFileSync(file, copy("d0000001", leaf, { compactionId: compaction.id }));
  appendFileSync(file, copy("d0000002", "d0000001", { compactionId: "0badc0de" }));
  appendFileSync(file, copy("d0000003", "d0000002", undefined));
  await chat.restart({ args: ["--session", file] });
  await work(chat, "snow");
  const [requests] = await assertOriented(chat);
  assert.equal(requests.length, 3);
  assert.equal(saved(readSession(file)).length, 4);
});

test("a user's text that equals ours is the user's", async (t) => {
  const { chat } = await compacted(t);
  await chat.user(TEXT, ["That was a copy."]);
  const [first] = await chat.compactions();
  const requests = requestsWith(chat, first);
  assert.deepEqual(placesIn(requests[0]).length, 2);
  await chat.user("What now?", ["Now we go on."]);
  await keepThis(chat, "snow");
  await chat.compact();
  await chat.user("And now?", ["On and on."]);
  const [, second] = await chat.compactions();
  assertOneConversation(requestsWith(chat, first), "with the copy", 1);
  const [last] = requestsWith(chat, second);
  const words = JSON.stringify(last.body.messages).split(JSON.stringify(TEXT).slice(1, -1)).length - 1;
  assert.equal(words, 2, "one is the user's, in the checkpoint or in the tail, one is ours");
});

test("a compaction that another extension made gets none, and ends ours", async (t) => {
  const { chat } = await compacted(t);
  await chat.user("What now?", ["Now we go on."]);
  await keepThis(chat, "snow");
  await chat.helper("compactions answer");
  await chat.compact();
  await work(chat, "hail");
  assert.deepEqual(placesIn(chat.ws.llm.requests().at(-1)), []);
  assert.equal((await savedFor(chat)).length, 1);
});

test("one that was omitted from the context does not come back", async (t) => {
  const { chat } = await compacted(t);
  await chat.user("What now?", ["Now we go on."]);
  const [entry] = saved(await chat.branch());
  await chat.helper(`omit ${entry.id}`);
  await chat.user("Without it.", ["Yes."]);
  await chat.user("And now?", ["On and on."]);
  assert.deepEqual(placesIn(chat.ws.llm.requests().at(-1)), []);
  assert.equal((await savedFor(chat)).length, 1);
});

test("on the screen it is one line", async (t) => {
  const { chat } = await compacted(t);
  await chat.user("What now?", ["Now we go on."]);
  const file = await chat.sessionFile();
  await chat.close();
  const terminal = startPiTerminal(chat.ws, { ...chat.options, args: ["--session", file] });
  t.after(() => terminal.close());
  await terminal.shows("Now we go on.");
  await terminal.shows("Told the model what is still in view");
  assert.ok(!terminal.drawn().includes(TEXT.split("\n")[0]));
});

/** The prompt names our tools, which are gone with the extension. */
function withoutPrompt(request) {
  return { ...request, body: { messages: request.body.messages.filter((message) => message.role !== "system") } };
}

test("without the extension Pi reads the session and sends what was saved", async (t) => {
  const { chat } = await compacted(t);
  await work(chat, "snow");
  chat.options = { ...chat.options, extensions: [] };
  await chat.resume();
  await chat.user("Is anybody missing?", ["No."]);
  const before = requestsSoFar(chat);
  const [last, now] = chat.ws.llm.requests().slice(before - 2).map(withoutPrompt);
  assertContinuesFrom(last, now, "without the extension");
  assert.equal(placesIn(now).length, 1);
  const complaints = chat.events().filter((event) => /error|not_json/.test(event.type) || event.notifyType === "warning");
  assert.deepEqual(complaints, []);
  assert.equal(chat.pi.stderr(), "");
});
