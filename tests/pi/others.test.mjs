// Other extensions that compact as well.
import assert from "node:assert/strict";
import test from "node:test";
import { openChat, prose } from "./chat.mjs";
import { spansOf } from "./checkpoint.mjs";
import { assertCheckpoints, assertResumes, requestAfter, requestText } from "./expect.mjs";
import { bash } from "./harness/conversation.mjs";

const work = (chat, topic) =>
  chat.user(`Look at the files for ${topic}.`, [
    { say: `I look at ${topic}.`, calls: [bash(`sed s/medium/${topic}/ medium.txt`)] },
    `The files for ${topic} are read.`,
  ]);
const keepThis = (chat, topic) =>
  chat.user(prose(`the kept question about ${topic}`, 800), [prose(`the kept answer about ${topic}`, 800)]);

test("after a compaction of another extension that retained nothing", async (t) => {
  const chat = await openChat(t);
  await work(chat, "rain");
  await keepThis(chat, "rain");
  await chat.helper("compactions retain-none");
  await chat.compact();
  const [foreign] = await chat.compactions();
  assert.equal(foreign.firstKeptEntryId, foreign.id, "it keeps nothing");
  await work(chat, "snow");
  await keepThis(chat, "snow");
  await chat.compact();
  await chat.user("What now?", ["Now we go on."]);

  const [{ entry }] = await assertCheckpoints(chat, { count: 1 });
  assert.match(entry.summary, /<compacted-base kind="model-summary"[^>]*>/);
  assert.ok(entry.summary.includes("Summary 1 by another extension."));
  assert.ok(!entry.summary.includes("about rain"), "what the other extension dropped is not ours to bring back");
  assert.equal(spansOf(entry.summary).length, 1);
  await assertResumes(chat, { count: 1 });
});

test("after a compaction of another extension that kept a tail", async (t) => {
  const chat = await openChat(t);
  await work(chat, "rain");
  await keepThis(chat, "rain");
  await chat.helper("compactions answer");
  await chat.compact();
  await work(chat, "snow");
  await keepThis(chat, "snow");
  await chat.compact();
  await work(chat, "hail");
  await keepThis(chat, "hail");
  await chat.compact();
  await chat.user("What now?", ["Now we go on."]);
  const checked = await assertCheckpoints(chat, { count: 2 });
  assert.ok(
    checked[0].span.text.includes("the kept question about rain"),
    "the tail that was kept is in the first span",
  );
  for (const { entry } of checked) assert.ok(entry.summary.includes("Summary 1 by another extension."));
});

test("another extension that answers after us: we say so, and go on from its summary", async (t) => {
  const chat = await openChat(t);
  await work(chat, "rain");
  await keepThis(chat, "rain");
  await chat.helper("compactions answer");
  await chat.compact();
  const replaced = chat.notices().filter((notice) => /another extension/i.test(notice));
  assert.equal(replaced.length, 1, JSON.stringify(chat.notices()));
  assert.ok(
    !chat.notices().some((notice) => /no model call/i.test(notice)),
    "nobody claims that the compaction was ours",
  );
  const [foreign] = await chat.compactions();
  assert.equal(foreign.summary, "Summary 1 by another extension.");
  await chat.user("What now?", ["Now we go on."]);
  assert.ok(requestText(requestAfter(chat, foreign)).includes("Summary 1 by another extension."));
  await assertCheckpoints(chat, { count: 0 });
});

test("another extension that erases our answer with {}: Pi's summariser runs, and we say so", async (t) => {
  const chat = await openChat(t);
  await work(chat, "rain");
  await keepThis(chat, "rain");
  await chat.helper("compactions empty");
  chat.summariserSays({ history: "Pi's own summary." });
  await chat.compact();
  assert.equal(
    chat.notices().filter((notice) => /another extension/i.test(notice)).length,
    1,
    JSON.stringify(chat.notices()),
  );
  const [foreign] = await chat.compactions();
  assert.ok(foreign.summary.startsWith("Pi's own summary."));
  await chat.user("What now?", ["Now we go on."]);
  await assertCheckpoints(chat, { count: 0, summariserCalls: 1 });
});

test("after one of Pi's own summaries the checkpoint says that it is mixed", async (t) => {
  const chat = await openChat(t);
  await work(chat, "rain");
  await keepThis(chat, "rain");
  await chat.helper("compactions empty");
  chat.summariserSays({ history: "Pi's own summary." });
  await chat.compact();
  await work(chat, "snow");
  await keepThis(chat, "snow");
  await chat.compact();
  await chat.user("What now?", ["Now we go on."]);
  const [{ entry }] = await assertCheckpoints(chat, { count: 1, summariserCalls: 1 });
  const base = /<compacted-base kind="model-summary"[^>]*>\n([\s\S]*?)\n<\/compacted-base/.exec(entry.summary);
  assert.ok(base?.[1].startsWith("Pi's own summary."), entry.summary.slice(0, 600));
  assert.match(entry.summary.slice(0, base.index), /Mixed context/i, "the warning stands before the base");
  await assertResumes(chat, { count: 1, summariserCalls: 1 });
});
