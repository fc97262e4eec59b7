// Whether a compaction helped, and what to do when it did not.
import assert from "node:assert/strict";
import test from "node:test";
import { openChat, prose } from "./chat.mjs";
import { assertCheckpoints } from "./expect.mjs";
import { bash, isCompaction } from "./harness/conversation.mjs";

const NOT_SMALLER = /not smaller than what it replaces/;
const THREE = /Three compactions in a row made nothing smaller.*\/cap-compaction.*keepRecentTokens/;
const DOES_NOT_FIT = /tokens are left, and Pi compacts above/;

/** A round of nothing but words, and its notices. */
async function talkAndCompact(chat, topic, turns = []) {
  await chat.user(prose(`the wish about ${topic}`, 700), [...turns, prose(`the reply about ${topic}`, 1300)]);
  const before = chat.notices().length;
  await chat.compact();
  return chat.notices().slice(before).join("\n");
}

test("openclaw_150447: a compaction of words alone says that it is not smaller; three in a row end in one notice", async (t) => {
  const chat = await openChat(t);
  await chat.user("Hello.", ["Hello!"]);
  const notices = [];
  for (const topic of ["rain", "snow", "hail", "fog"]) notices.push(await talkAndCompact(chat, topic));
  for (const text of notices) assert.match(text, NOT_SMALLER);
  assert.deepEqual(
    notices.map((text) => THREE.test(text)),
    [false, false, true, false],
    "one clear notice, not one each time",
  );
  for (const { summary, details } of await chat.compactions()) {
    assert.match(summary, NOT_SMALLER);
    assert.equal(details.noProgress, true);
  }
  await chat.user("What now?", ["Now we go on."]);
  assert.equal((await chat.compactions()).length, 4, "and no loop");
  await assertCheckpoints(chat, { count: 4, mustLoseOutput: false });
});

test("outputs and thinking that go are progress, and end the row", async (t) => {
  const chat = await openChat(t);
  await chat.user("Hello.", ["Hello!"]);
  await talkAndCompact(chat, "rain");
  await talkAndCompact(chat, "snow");
  const withOutput = await talkAndCompact(chat, "hail", [{ calls: [bash("cat medium.txt medium.txt")] }]);
  assert.doesNotMatch(withOutput, NOT_SMALLER);
  assert.doesNotMatch(await talkAndCompact(chat, "fog", [{ think: prose("a long thought", 9000), calls: [bash("true")] }]), NOT_SMALLER);
  assert.match(await talkAndCompact(chat, "dew"), NOT_SMALLER);
  assert.doesNotMatch(chat.notices().join("\n"), THREE, "the row was broken");
  assert.deepEqual(
    (await chat.compactions()).map(({ details }) => details.noProgress ?? false),
    [true, true, false, false, true],
  );
});

test("pi_agent_suite_18: the kept tail alone exceeds the threshold: said once with the numbers, and no loop", async (t) => {
  const chat = await openChat(t, { window: 16_000, reserve: 4000, keep: 1000 });
  await chat.user("First something small.", [{ calls: [bash("cat small.txt")] }, "Twelve lines."]);
  await chat.user(prose("the second request", 2000), [prose("the second answer", 2000)]);
  await chat.user("Now the huge file.", [{ say: "I print it.", calls: [bash("cat huge.txt")] }, "1200 lines."]);

  const branch = await chat.branch();
  const first = branch.find(isCompaction);
  const notices = chat.notices("warning").filter((text) => DOES_NOT_FIT.test(text));
  assert.equal(notices.length, 1, JSON.stringify(chat.notices()));
  const [, left] = /^About ([\d,]+) tokens are left/.exec(notices[0]);
  assert.ok(Number(left.replaceAll(",", "")) > 12_000, left);
  assert.match(notices[0], /Pi compacts above 12,000 \(a window of 16,000 less a reserve of 4,000\)/);
  assert.match(notices[0], /\/cap-compaction .*keepRecentTokens .*\(now 1,000\)/);
  assert.ok(branch.indexOf(first) < branch.length - 1);
  // Pi compacts once more when the run ends; then it fits, and that is the end of it.
  await chat.user("What now?", ["Now we go on."]);
  assert.equal((await chat.compactions()).length, 2);
});

test("what fits is not warned about", async (t) => {
  const chat = await openChat(t, { window: 16_000, reserve: 4000 });
  await chat.user("First something small.", [{ calls: [bash("cat medium.txt")] }, "Sixty lines."]);
  await talkAndCompact(chat, "rain");
  assert.doesNotMatch(chat.notices().join("\n"), DOES_NOT_FIT);
});

test("pinet_1005: a branch that ends in a compaction is left alone", async (t) => {
  const chat = await openChat(t);
  await chat.user("Hello.", ["Hello!"]);
  await talkAndCompact(chat, "rain");
  await assert.rejects(chat.compact(), /Already compacted/);
  await chat.command("/cap-compaction on");
  await assert.rejects(chat.compact(), /Nothing to compact/);
  assert.equal((await chat.compactions()).length, 1);
});
