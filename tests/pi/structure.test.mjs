// Sessions of a shape that Pi reads, but a conversation does not make by itself.
import assert from "node:assert/strict";
import test from "node:test";
import { openChat, output, prose } from "./chat.mjs";
import { spansOf } from "./checkpoint.mjs";
import { assertCheckpoints, assertResumes } from "./expect.mjs";
import { bash, isUser } from "./harness/conversation.mjs";
import { call, SessionText, text } from "./session-text.mjs";

/** One more exchange that Pi keeps, a compaction, and a request after it. */
async function compactHere(chat) {
  await chat.user(prose("the kept question", 800), [prose("the kept answer", 800)]);
  await chat.compact();
  await chat.user("What now?", ["Now we go on."]);
}

test("fastagent_401_a_boundary_that_is_not_on_the_path", async (t) => {
  const session = new SessionText();
  session.user("Long ago.");
  session.assistant(text("Long ago indeed."));
  session.compaction("A summary of long ago.", "deadbeef");
  session.user("After the compaction.");
  session.assistant(text("I look."), call("c1", "cat x"));
  session.result("c1", "bash", output("x", 20));
  session.assistant(text("Seen."));
  const chat = await openChat(t, { session: `${session}` });
  await compactHere(chat);
  const [{ entry }] = await assertCheckpoints(chat, { count: 1 });
  assert.ok(!entry.summary.includes("Long ago indeed."), "Pi keeps nothing from before that compaction");
  await assertResumes(chat, { count: 1 });
});

test("pinet_941_results_whose_call_is_gone", async (t) => {
  const session = new SessionText();
  session.user("Long ago.");
  session.assistant(call("c1", "cat y"));
  session.compaction("A summary of long ago.", session.parent);
  session.result("c1", "bash", output("child of a compaction", 20));
  session.user("After the compaction.");
  session.result("c9", "bash", output("nobody asked", 20));
  session.assistant(text("What was that?"), call("c2", "cat z"));
  session.result("c2", "read", output("another tool", 20));
  session.assistant(text("Strange."));
  const chat = await openChat(t, { session: `${session}` });
  await compactHere(chat);
  const [{ entry, span }] = await assertCheckpoints(chat, { count: 1 });
  assert.match(span.text, /bash\(command="cat z"\) \[unknown\]/, "a result of another tool is no result of this call");
  assert.doesNotMatch(entry.summary, /nobody asked output|child of a compaction output|another tool output/);
});

test("pi_4570_an_older_compaction_inside_the_kept_window", async (t) => {
  const chat = await openChat(t);
  await chat.user("In the beginning.", [{ say: "I look.", calls: [bash("cat small.txt")] }, "Twelve lines."]);
  await compactHere(chat);
  await chat.helper("compactions keep-all");
  await compactHere(chat);
  await compactHere(chat);
  const checked = await assertCheckpoints(chat, { count: 2 });
  const spans = spansOf(checked[1].entry.summary);
  assert.equal(spans.length, 1, "what the other extension kept is one new span");
  assert.equal(checked[1].entry.summary.split("[User]: In the beginning.").length, 2, "and nothing stands there twice");
  await assertResumes(chat, { count: 2 });
});

test("a parent that is missing ends the branch, for Pi and for us", async (t) => {
  const session = new SessionText();
  session.user("Nobody can reach this.");
  session.assistant(text("Nor this."));
  session.user("Here the branch begins.", { parent: "0badf00d" });
  session.assistant(text("It does."), call("c1", "cat x"));
  session.result("c1", "bash", output("x", 20));
  session.assistant(text("Seen."));
  const chat = await openChat(t, { session: `${session}` });
  await compactHere(chat);
  const [{ entry }] = await assertCheckpoints(chat, { count: 1 });
  assert.ok(!entry.summary.includes("Nobody can reach this."));
});

test("lines that are torn, empty or of an unknown type are passed over", async (t) => {
  const session = new SessionText();
  session.user("The first message.");
  session.entry({ type: "something_of_tomorrow", payload: { text: "unknown" } });
  session.assistant(text("The first answer."), call("c1", "cat x"));
  session.result("c1", "bash", output("x", 20));
  session.assistant(text("Seen."));
  const lines = `${session}`.split("\n");
  lines.splice(3, 0, "", '{"type":"message","id":"20000000","parentId":"1000', "   ");
  const chat = await openChat(t, { session: lines.join("\n") });
  await compactHere(chat);
  await assertCheckpoints(chat, { count: 1 });
  await assertResumes(chat, { count: 1 });
});

test("a tree move to before the first message, and a conversation from there", async (t) => {
  const session = new SessionText();
  session.user("The first attempt.");
  session.assistant(text("It failed."));
  const chat = await openChat(t, { session: `${session}` });
  const first = (await chat.tree()).entries.find(isUser);
  await chat.helper(`tree ${first.id}`);
  assert.equal(await chat.leaf(), null, "the leaf is before everything");
  await chat.user("The second attempt.", [{ say: "I look.", calls: [bash("cat small.txt")] }, "Twelve lines."]);
  await compactHere(chat);
  const [{ entry }] = await assertCheckpoints(chat, { count: 1 });
  assert.ok(!entry.summary.includes("The first attempt."));
  await assertResumes(chat, { count: 1 });
});
