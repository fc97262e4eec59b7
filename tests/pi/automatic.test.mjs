// Compactions that Pi begins by itself.
import assert from "node:assert/strict";
import test from "node:test";
import { openChat, prose } from "./chat.mjs";
import { assertCheckpoints, assertResumes } from "./expect.mjs";
import { bash, isAssistant, isCompaction } from "./harness/conversation.mjs";
import { readSession, runPiPrint } from "./harness/harness.mjs";

const OVERFLOW = {
  status: 400,
  error: "This model's maximum context length is 20000 tokens. However, your messages resulted in 30000 tokens.",
};

/** Windows of 16000 with 4000 in reserve: one huge output is more than the other 12000. */
const SMALL_WINDOW = { window: 16_000, reserve: 4000 };

test("threshold: between two turns of a run", async (t) => {
  const chat = await openChat(t, { ...SMALL_WINDOW, keep: 1000 });
  await chat.user("First, look at the small file.", [
    { think: "Thinking about the small file only.", say: "I look.", calls: [bash("cat small.txt")] },
    "It has twelve lines.",
  ]);
  await chat.user(prose("the second request", 2000), [prose("the second answer", 2000)]);
  await chat.user("Now the huge file.", [
    { say: "I print all of it.", calls: [bash("cat huge.txt")] },
    "The huge file has 1200 lines.",
  ]);

  // The huge output is still in the kept tail; so there is a second compaction when the run ends.
  const [{ prepared, entry }] = await assertCheckpoints(chat, { count: 2, continued: false });
  assert.equal(prepared.reason, "threshold");
  const branch = await chat.branch();
  const at = branch.findIndex((other) => other.id === entry.id);
  assert.ok(
    branch.slice(at).some((other) => isAssistant(other)),
    "the run went on after the compaction",
  );
  assert.equal(branch[at - 1].message.role, "toolResult", "the compaction came between two turns");
  await chat.user("What now?", ["Now we go on."]);
  await assertCheckpoints(chat, { count: 2 });
  await assertResumes(chat, { count: 2 });
});

test("threshold: before a new prompt", async (t) => {
  const chat = await openChat(t, { ...SMALL_WINDOW, keep: 1000, autoCompaction: false });
  await chat.user("Look at the huge file.", [{ say: "I look.", calls: [bash("cat huge.txt")] }, "Many lines."]);
  await chat.user(prose("the second request", 3000), [prose("the second answer", 3000)]);
  await chat.pi.send({ type: "set_auto_compaction", enabled: true });
  await chat.user("Go on.", ["Going on."]);

  const [{ prepared }] = await assertCheckpoints(chat, { count: 1 });
  assert.equal(prepared.reason, "threshold");
  const branch = await chat.branch();
  assert.ok(isCompaction(branch[branch.findIndex((e) => e.message?.content?.[0]?.text === "Go on.") - 1]));
  await assertResumes(chat, { count: 1 });
});

test("overflow: the failed request is repeated after the compaction", async (t) => {
  const chat = await openChat(t, { window: 20_000 });
  await chat.user("Look at the medium file.", [
    { think: "Thinking about sixty lines.", say: "I look.", calls: [bash("cat medium.txt")] },
    "It has sixty lines.",
  ]);
  await chat.user(prose("the second request", 1500), [prose("the second answer", 1500)]);
  await chat.user("The request that is too long.", [OVERFLOW, "Now it fitted."]);

  const [{ prepared, span }] = await assertCheckpoints(chat, { count: 1 });
  assert.equal(prepared.reason, "overflow");
  assert.equal(prepared.willRetry, true);
  assert.ok(
    !span.text.includes("message ended"),
    "the failed answer is omitted from the context, so it is not in the span",
  );
  assert.equal((await chat.branch()).at(-1).message.content[0].text, "Now it fitted.");
  await assertResumes(chat, { count: 1 });
});

test("several automatic compactions in one run", async (t) => {
  const chat = await openChat(t, SMALL_WINDOW);
  const hugeOutput = (topic) => bash(`sed s/huge/${topic}/ huge.txt`);
  await chat.user("Read three long files, one after the other.", [
    { think: "Thinking about three files.", say: "The first file.", calls: [hugeOutput("first")] },
    { say: "The second file.", calls: [hugeOutput("second")] },
    { say: "The third file.", calls: [hugeOutput("third")] },
    "I have read all three.",
  ]);
  await chat.user("What now?", ["Now we go on."]);
  // After each output, and once more when the run has ended.
  const checked = await assertCheckpoints(chat, { count: 4 });
  assert.deepEqual(
    checked.map(({ prepared }) => prepared.reason),
    Array(4).fill("threshold"),
  );
  await assertResumes(chat, { count: 4 });
});

test("print mode: a resumed session is compacted before the prompt", async (t) => {
  const chat = await openChat(t, { ...SMALL_WINDOW, keep: 1000, autoCompaction: false });
  await chat.user("Look at the huge file.", [{ say: "I look.", calls: [bash("cat huge.txt")] }, "Many lines."]);
  await chat.user(prose("the second request", 3000), [prose("the second answer", 3000)]);
  await chat.pi.send({ type: "set_auto_compaction", enabled: true });
  const file = await chat.sessionFile();
  await chat.close();

  chat.ws.llm.addSteps({ text: "Printed answer." });
  const { extensions, env } = chat.options;
  const run = await runPiPrint(chat.ws, "Go on.", { extensions, env, args: ["--session", file] });
  assert.equal(run.code, 0, run.stderr);
  assert.equal(run.stdout.trim(), "Printed answer.", "nothing but the answer stands on stdout");
  const compactions = readSession(file).filter(isCompaction);
  assert.equal(compactions.length, 1);
  assert.equal(compactions[0].details.kind, "stet.verbatim");

  await chat.restart({ args: ["--session", file] });
  await chat.user("And on.", ["On and on."]);
  await assertCheckpoints(chat, { count: 1 });
});
