// Compactions that the user asked for.
import assert from "node:assert/strict";
import test from "node:test";
import { openChat, prose } from "./chat.mjs";
import { assertCheckpoints, assertNoTrace, assertResumes, requestAfter, requestText } from "./expect.mjs";
import { bash, edit, read, write } from "./harness/conversation.mjs";

/** Some work with every common kind of entry in it. */
async function work(chat, topic) {
  const file = `${topic}.txt`;
  await chat.user(`Look at the files for ${topic}.\n\nRules:\n\t1. keep tabs\n  2. keep   spaces  \n`, [
    {
      think: `Thinking hard about ${topic} and nothing else.`,
      say: `I look at the files for ${topic}.`,
      calls: [bash("cat medium.txt"), read("small.txt")],
    },
    { calls: [bash("sh fail.sh"), write(file, `A line on ${topic}.\n${prose(`the file on ${topic}`, 200)}\n`)] },
    {
      say: `One command failed for ${topic}.`,
      calls: [edit(file, [`A line on ${topic}.`, `The first line on ${topic}.`])],
    },
    `The work on ${topic} is done.\n\n- first\n- second`,
  ]);
}

test("a manual compaction keeps what was said and drops what tools printed", async (t) => {
  const chat = await openChat(t);
  await work(chat, "rain");
  await chat.user(prose("the kept question", 800), [prose("the kept answer", 800)]);
  const result = await chat.compact();
  assert.equal(result.details.kind, "stet.verbatim");
  await chat.user("What now?", ["Now we go on."]);

  const [{ span, prepared }] = await assertCheckpoints(chat, { count: 1 });
  assert.equal(prepared.isSplitTurn, false);
  assert.equal(span.attributes.words, undefined, "no words were given");
  assert.match(span.text, /\[error [0-9a-f]{8}\]/, "the failed command is marked");
  await assertResumes(chat, { count: 1 });
});

test("three compactions in a row", async (t) => {
  const chat = await openChat(t);
  for (const topic of ["rain", "snow", "hail"]) {
    await work(chat, topic);
    await chat.user(prose(`question about ${topic}`, 700), [prose(`answer about ${topic}`, 700)]);
    await chat.compact();
    await chat.user(`And after ${topic}?`, ["We shall see."]);
  }
  const checked = await assertCheckpoints(chat, { count: 3 });
  assert.deepEqual(
    checked.map(({ span }) => span.n),
    [1, 2, 3],
  );
  await assertResumes(chat, { count: 3 });
});

test("claude_code_13642_eleven_compactions_keep_every_user_message", async (t) => {
  const chat = await openChat(t);
  const said = [];
  for (let round = 1; round <= 11; round += 1) {
    said.push(`Round ${round}: ${prose(`wish ${round}`, 600)}\nAnd never forget rule ${round}.`);
    await chat.user(said.at(-1), [
      { say: `I work on ${round}.`, calls: [bash(`sed s/small/round${round}/ small.txt`)] },
      prose(`reply ${round}`, 1300),
    ]);
    await chat.compact();
  }
  await chat.user("What were all my wishes?", ["I have them all in view."]);
  const checked = await assertCheckpoints(chat, { count: 11 });
  const sent = requestText(requestAfter(chat, checked.at(-1).entry));
  for (const text of said) assert.equal(sent.split(text).length, 2, `"${text.slice(0, 20)}" is in view exactly once`);
});

test("words given with /compact stand at the span and among the remarks", async (t) => {
  const chat = await openChat(t);
  const words = 'mind the "units" <and> the table';
  await work(chat, "rain");
  await chat.user(prose("the kept question", 800), [prose("the kept answer", 800)]);
  await chat.compact(words);
  await work(chat, "snow");
  await chat.user(prose("another kept question", 800), [prose("another kept answer", 800)]);
  await chat.compact();
  await chat.user("What now?", ["Now we go on."]);

  const [first, second] = await assertCheckpoints(chat, { count: 2 });
  const opening = /<compacted-span n="1"[^\n]*/.exec(first.entry.summary)[0];
  assert.ok(opening.includes('words="mind the '), `the words are recorded with the span: ${opening}`);
  assert.ok(!opening.slice(1, -1).includes("<"), "metadata is escaped");
  const remarks = (summary) => summary.slice(summary.lastIndexOf("</compacted-span"));
  assert.ok(remarks(first.entry.summary).includes("mind the "), "the words are among the remarks");
  assert.ok(second.entry.summary.includes(opening), "the span keeps its words in later checkpoints");
  assert.ok(!remarks(second.entry.summary).includes("mind the "), "later remarks are those of the later compaction");
});

test("a command with !! leaves no trace", async (t) => {
  const chat = await openChat(t);
  await work(chat, "rain");
  assert.match((await chat.bash("cat small.txt")).output, /small output/);
  const hidden = await chat.bash("printf 'hunter%s secret of the person' 2", { hidden: true });
  assert.equal(hidden.output, "hunter2 secret of the person");
  await chat.user(prose("the kept question", 800), [prose("the kept answer", 800)]);
  await chat.compact();
  await chat.user("What now?", ["Now we go on."]);

  const [{ span, prepared }] = await assertCheckpoints(chat, { count: 1 });
  assert.ok(
    prepared.messagesToSummarize.some((message) => message.excludeFromContext),
    "Pi had the hidden command in its list",
  );
  assert.match(span.text, /^\[User bash\]: \$ cat small\.txt \[ok [0-9a-f]{8}\]$/m);
  await assertNoTrace(chat, "hunter");
  await assertResumes(chat, { count: 1 });
  await assertNoTrace(chat, "hunter");
});

test("there is one notice after a compaction, with sizes, time and no model call", async (t) => {
  const chat = await openChat(t);
  await work(chat, "rain");
  await chat.user(prose("the kept question", 800), [prose("the kept answer", 800)]);
  const before = chat.notices().length;
  await chat.compact();
  const notices = chat.notices().slice(before);
  assert.equal(notices.length, 1, JSON.stringify(notices));
  assert.match(notices[0], /no model call/i);
  assert.match(notices[0], /\d+ ms/);
  assert.match(notices[0], /tokens/);
  await chat.user("What now?", ["Now we go on."]);
  await assertCheckpoints(chat, { count: 1 });
});

test("nothing to compact: Pi says so and we are not asked", async (t) => {
  const chat = await openChat(t, { keep: 20_000 });
  await chat.user("Hello.", ["Hello!"]);
  await assert.rejects(chat.compact(), /Nothing to compact/);
  await assertCheckpoints(chat, { count: 0 });
});
