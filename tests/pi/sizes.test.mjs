// Long sessions (SESSION_MB=200 for a longer one) and many Pis at once, in real Pi.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import test from "node:test";
import { BINARY, openChat, prose } from "./chat.mjs";
import { bash, Conversation, isCompaction } from "./harness/conversation.mjs";
import { textOf } from "./harness/server.mjs";
import { assertWellFormed, lastRequest } from "./lossless.mjs";
import { writeLongSession } from "./long-session.mjs";
import { note, section } from "./noted.mjs";

const MEGABYTES = Number(process.env.SESSION_MB ?? "60");

/** `pi-stet verify` finds that the file bears out its compactions. */
function assertVerifies(file) {
  const { status, stdout, stderr } = spawnSync(BINARY, ["verify", file], { encoding: "utf8" });
  assert.equal(status, 0, stdout + stderr);
}

/** The compactions of a file that is too long to be parsed as a whole. */
const compactionsIn = (file) =>
  readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line.startsWith('{"type":"compaction"'))
    .map((line) => JSON.parse(line));

/** Opens a long session, compacts it, goes on, and opens it again. */
async function assertCompacts(t, shape) {
  let written;
  const chat = await openChat(t, {
    session: (file, cwd) => (written = writeLongSession(file, { cwd, ...shape })),
    autoCompaction: false,
    oracle: false,
    // Nothing of the conversation may be trimmed.
    window: 50_000_000,
    timeoutMs: 120_000,
  });
  await chat.user(prose("the kept question", 800), [prose("the kept answer", 800)]);
  const started = performance.now();
  await chat.compact();
  const took = performance.now() - started;
  t.diagnostic(`${written.entries} entries, ${(written.bytes / 1e6).toFixed(1)} MB: /compact took ${took.toFixed(0)} ms`);
  const file = await chat.sessionFile();
  const [{ summary, details, fromHook }, ...others] = compactionsIn(file);
  assert.deepEqual([details.kind, fromHook, others.length], ["stet.verbatim", true, 0]);
  let at = 0;
  for (const text of written.said) {
    at = summary.indexOf(`\n[User]: ${text}\n`, at);
    assert.ok(at > 0, `in its order, the checkpoint has "${text.slice(0, 60)}"`);
  }
  const carries = () => lastRequest(chat).body.messages.some((message) => textOf(message.content).includes(summary));
  await chat.user("What now?", ["Now we go on."]);
  assert.ok(carries());
  await chat.resume();
  await chat.user("This is said after the restart.", ["And this is answered after the restart."]);
  assert.ok(carries());
  assertWellFormed(lastRequest(chat));
  assert.deepEqual(chat.notices("warning"), []);
  assert.equal(chat.ws.llm.summariserCalls().length, 0);
  assertVerifies(file);
  return written;
}

test("a session of 5,000 entries", async (t) => {
  const { entries } = await assertCompacts(t, { entries: 5000, output: 1500 });
  assert.ok(entries >= 5000);
});

test(`a session of ${MEGABYTES} MB`, async (t) => {
  const { bytes } = await assertCompacts(t, { bytes: MEGABYTES * 1e6, output: 40_000 });
  assert.ok(bytes >= MEGABYTES * 1e6);
});

/** Ten Pis in one home and one project, each in a session of its own: the given one and nine more. */
async function tenPis(t, options) {
  const chat = await openChat(t, options);
  const others = Array.from({ length: 9 }, () => new Conversation(chat.ws, { ...chat.options, timeoutMs: 90_000 }));
  t.after(() => Promise.all(others.map((other) => other.close())));
  return [chat, ...others];
}

/** What each of them says, with the model's answers in rules: ten conversations share one server. */
async function talkAt(pis, turn) {
  const { llm } = pis[0].ws;
  await Promise.all(
    pis.map((conversation, nth) => {
      const { text, calls, answer } = turn(nth);
      if (calls) llm.addRule({ when: { lastUserIncludes: text }, reply: { toolCalls: calls }, times: 1 });
      llm.addRule({ when: { lastUserIncludes: text }, reply: { text: answer } });
      return conversation.pi.prompt(text);
    }),
  );
}

for (const [method, kind] of [["verbatim", "stet.verbatim"], ["checkpoint", "stet.checkpoint"]]) {
  test(`ten compactions at once by ten Pis in one home and project: ${method}`, async (t) => {
    const pis = await tenPis(t, { env: { PI_STET_METHOD: method } });
    const mark = (nth) => `number-${nth}-of-ten`;
    const calls = method === "checkpoint" ? (nth) => [note(`NOTE OF ${mark(nth)}`)] : () => [bash("cat medium.txt")];
    await talkAt(pis, (nth) => ({ text: `First, ${mark(nth)}.`, calls: calls(nth), answer: `Done, ${mark(nth)}.` }));
    await talkAt(pis, (nth) => ({ text: prose(`the question of ${mark(nth)}`, 800), answer: prose(`the answer to ${mark(nth)}`, 800) }));
    await Promise.all(pis.map((conversation) => conversation.compact()));
    await talkAt(pis, (nth) => ({ text: `And now, ${mark(nth)}?`, answer: `On, ${mark(nth)}.` }));

    const files = new Set();
    for (const [nth, conversation] of pis.entries()) {
      const [{ summary, details }, ...more] = (await conversation.branch()).filter(isCompaction);
      assert.deepEqual([details.kind, more.length], [kind, 0]);
      if (method === "checkpoint") assert.equal(section(summary, "checkpoint"), `NOTE OF ${mark(nth)}`);
      else assert.ok(summary.includes(`[User]: First, ${mark(nth)}.\n`), summary);
      const foreign = [...pis.keys()].filter((other) => other !== nth && summary.includes(mark(other)));
      assert.deepEqual(foreign, [], `${mark(nth)} knows nothing of the others`);
      const warnings = conversation.events().filter((event) => event.method === "notify" && event.notifyType === "warning");
      assert.deepEqual(warnings, []);
      const request = pis[0].ws.llm.requests().find(({ body }) => body.messages.some((message) => textOf(message.content) === `And now, ${mark(nth)}?`));
      assertWellFormed(request);
      assert.ok(request.body.messages.some((message) => textOf(message.content).includes(summary)));
      const file = await conversation.sessionFile();
      assertVerifies(file);
      files.add(file);
    }
    assert.equal(files.size, 10, "ten sessions");
    assert.equal(pis[0].ws.llm.summariserCalls().length, 0);
  });
}
