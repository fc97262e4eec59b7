// Clocks that do not run as they should: compactions, settings and the re-orientation
// go by the order of the entries, never by their times.
import assert from "node:assert/strict";
import { join } from "node:path";
import test from "node:test";
import { openChat } from "./chat.mjs";
import { assertCheckpoints } from "./expect.mjs";
import { bash } from "./harness/conversation.mjs";
import { REPO_DIR } from "./harness/harness.mjs";
import { assertNothingLost } from "./lossless.mjs";
import { talk } from "./meddled.mjs";
import { assertOriented } from "./orientation.mjs";

const CLOCK = join(REPO_DIR, "testdata", "record", "clock.mjs");

/** A chat in a Pi whose clock begins now and runs that many times as fast. */
const openWithClock = (t, speed, options) =>
  openChat(t, {
    ...options,
    env: { NODE_OPTIONS: `--import=${CLOCK}`, RECORDING_STARTS_AT: new Date().toISOString(), RECORDING_SPEED: speed },
  });

/** A conversation with three compactions; `tick` is called wherever a clock may be set. */
async function threeCompactions(chat, tick) {
  for (const topic of ["rain", "snow", "hail"]) {
    await talk(chat, topic);
    await tick();
    await chat.command(`/cap-compaction off ${topic.length}0000c`);
    await tick();
    await chat.compact();
    await tick();
    await chat.user(`What now, after ${topic}?`, [{ say: "I look again.", calls: [bash("cat small.txt")] }, "Now we go on."]);
    await tick();
  }
}

async function assertAllIsWell(chat) {
  const checked = await assertCheckpoints(chat, { count: 3 });
  assert.deepEqual(chat.notices("warning"), []);
  assert.match(await chat.command("/cap-compaction"), /off 40000c/, "the newest setting counts, whatever its time");
  await assertOriented(chat);
  await assertNothingLost(chat);
  return checked;
}

test("a clock that jumps back an hour, again and again", async (t) => {
  const chat = await openWithClock(t, "1");
  await threeCompactions(chat, () => chat.helper("later -1h"));
  const [{ span }] = await assertAllIsWell(chat);
  const [from, to] = span.attributes.covers.split(" → ");
  assert.ok(Date.parse(to) - Date.parse(from) < 3_600_000, `the first span was made within one hour: ${span.attributes.covers}`);
});

test("a clock that stands still: every entry has the same time", async (t) => {
  const chat = await openWithClock(t, "0");
  await threeCompactions(chat, () => {});
  const times = new Set((await chat.branch()).map(({ timestamp }) => timestamp));
  assert.equal(times.size, 1, "it stands still");
  await assertAllIsWell(chat);
});

test("a clock that jumps ten years ahead and back", async (t) => {
  const chat = await openWithClock(t, "1");
  let hours = 87_600;
  await threeCompactions(chat, () => chat.helper(`later ${(hours = -hours)}h`));
  await assertAllIsWell(chat);
});
