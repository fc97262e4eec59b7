// The lookup in real Pi: a second model searches the record, and Pi's own providers carry it.
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { openChat, prose } from "./chat.mjs";
import { bash, isToolResult } from "./harness/conversation.mjs";
import { piIs, readSession } from "./harness/harness.mjs";
import { textOf } from "./harness/server.mjs";

const QUESTION = "What was the second number of the failing output?";
const lookup = (question = QUESTION) => ({ name: "context_lookup", arguments: { question } });
const grep = (pattern) => ({ name: "grep", arguments: { pattern } });

/** A chat whose only output is compacted away. */
async function compactedChat(t, options) {
  const chat = await openChat(t, options);
  await chat.user("Look at the files.", [{ say: "I look.", calls: [bash("sh fail.sh")] }, "It failed."]);
  await chat.user(prose("the kept question", 800), [prose("the kept answer", 800)]);
  await chat.compact();
  return chat;
}

/** The person asks; the model calls the lookup, whose own model gives these answers. Gives the lookup's entries. */
async function ask(chat, answers, { calls = [lookup()], after = ["Now I know."], say = "Look it up." } = {}) {
  const before = (await chat.branch()).length;
  await chat.user(say, [{ calls }, ...answers, ...after]);
  const results = (await chat.branch()).slice(before).filter(isToolResult);
  return results.filter((entry) => entry.message.toolName === "context_lookup");
}

const text = (entry) => textOf(entry.message.content);
const status = (entry) => entry.message.details?.status;

/** The requests of the lookup's model. */
const asked = (chat) =>
  chat.ws.llm.requests().filter((request) => textOf(request.body.messages[0].content).includes("recorded past of a coding session"));

test("a lookup searches, answers, and stands in the session with its usage", async (t) => {
  const chat = await compactedChat(t);
  const output = (await chat.branch()).find(isToolResult);
  const answer = `It was 4712: "failing output, line 2 of 2: 4712" (entry ${output.id}).`;
  const [entry] = await ask(chat, [
    { calls: [grep("failing output")], usage: { prompt_tokens: 100, completion_tokens: 10 } },
    { say: answer, usage: { prompt_tokens: 200, completion_tokens: 20 } },
  ]);
  assert.equal(text(entry), answer, "checked citations stay as they are");
  assert.equal(status(entry), "answered");
  assert.equal(entry.message.isError, false);
  assert.equal(entry.message.usage.totalTokens, 330);
  assert.ok(entry.message.usage.cost.total > 0);
  const saved = readSession(await chat.sessionFile()).find(({ id }) => id === entry.id);
  assert.deepEqual(saved.message.content, entry.message.content);
  assert.deepEqual(saved.message.usage, entry.message.usage);

  const [first, second] = asked(chat);
  assert.equal(asked(chat).length, 2);
  const opening = textOf(first.body.messages.at(-1).content);
  assert.ok(opening.includes(QUESTION) && opening.includes("failing output, line 2 of 2: 4712"), opening);
  assert.deepEqual(first.body.tools.map((tool) => tool.function.name), ["list_entries", "grep", "show_entry"]);
  assert.ok(textOf(second.body.messages.at(-1).content).includes(`ENTRY ${output.id} · tool result of bash, error`));

  const updates = chat.events().filter((event) => event.type === "tool_execution_update" && event.toolName === "context_lookup");
  const shown = updates.map((event) => textOf(event.partialResult.content));
  assert.deepEqual(shown, ["lookup, step 1: searching", "lookup, step 2: grep failing output"]);
});

test("what the record does not bear out is marked", async (t) => {
  const chat = await compactedChat(t);
  const [entry] = await ask(chat, ['Entry 0badf00d says "failing output, line 2 of 2: 9999".']);
  assert.equal(
    text(entry),
    'Entry 0badf00d [unverified: no such entry] says "failing output, line 2 of 2: 9999" [unverified: stands nowhere in the record].',
  );
});

test("the turns end in a write-up without tools, the ceiling too", async (t) => {
  const chat = await compactedChat(t, { env: { PI_STET_LOOKUP_TURNS: "2", PI_STET_LOOKUP_MAX_CALLS: "0" } });
  const [turns] = await ask(chat, [{ calls: [grep("one")] }, { calls: [grep("two")] }, "What I have is 4712."]);
  assert.match(text(turns), /^What I have is 4712\.\n\n\[Incomplete: 2-turn limit\.\] For more, use context_grep/);
  assert.equal(status(turns), "partial");
  assert.equal(asked(chat).at(-1).body.tools?.length ?? 0, 0, "the write-up has no tools");

  await chat.user("Print it all.", [{ calls: [bash("cat huge.txt")] }, "Printed."]);
  const pin = await chat.newest((entry) => entry.message?.role === "assistant");
  const page = (n) => ({ calls: [{ name: "grep", arguments: { pattern: "huge output", page: n, throughEntry: pin.id } }] });
  const [ceiling] = await ask(chat, [page(1), page(2), page(3), page(4), page(5), page(6), "Too many pages."]);
  assert.match(text(ceiling), /^Too many pages\.\n\n\[Incomplete: 6-call total limit\.\]/);
});

test("a provider that fails keeps what was found, and the next attempt may go", async (t) => {
  const chat = await compactedChat(t);
  const failure = { status: 400, error: "the provider is out of order" };
  const [entry, again] = await ask(chat, [{ say: "So far: 4712.", calls: [grep("failing")] }, failure], {
    after: [{ calls: [lookup()] }, "It was 4712.", "Good."],
  });
  assert.match(text(entry), /^So far: 4712\.\n\n\[Incomplete: context_lookup failed: .*out of order/);
  assert.equal(entry.message.isError, true);
  assert.equal(text(again), "It was 4712.");
  const [atOnce] = await ask(chat, [failure]);
  assert.match(text(atOnce), /^context_lookup failed: .*out of order[\s\S]*failing output, line 2 of 2: 4712/);
});

test("a provider that fails in the write-up keeps what was said; so does an empty one", async (t) => {
  const chat = await compactedChat(t, { env: { PI_STET_LOOKUP_TURNS: "1", PI_STET_LOOKUP_MAX_CALLS: "0" } });
  const search = { say: "So far: 4712.", calls: [grep("failing")], usage: { prompt_tokens: 100, completion_tokens: 10 } };
  const [failed] = await ask(chat, [search, { status: 400, error: "the provider is out of order" }]);
  assert.match(text(failed), /^So far: 4712\.\n\n\[Incomplete: context_lookup failed: .*out of order/);
  assert.equal(status(failed), "partial");
  assert.equal(failed.message.usage.totalTokens, 110, "what was spent is told");
  const [empty] = await ask(chat, [search, " "]);
  assert.match(text(empty), /^So far: 4712\.\n\n\[Incomplete: 1-turn limit, and the write-up came out empty\.?\]/);
  assert.equal(asked(chat).length, 4, "one write-up each");
});

test("an answer that is cut at its length says so", async (t) => {
  const chat = await compactedChat(t);
  const [entry] = await ask(chat, [{ say: "It was 47", finishReason: "length" }]);
  assert.match(text(entry), /^It was 47\n\n\[Incomplete: the answer was cut at its length limit\.?\]/);
  assert.equal(status(entry), "partial");
});

test("what lookups cost counts in Pi's sums, also when they fail", async (t) => {
  const chat = await compactedChat(t);
  const stats = async () => (await chat.pi.send({ type: "get_session_stats" })).data;
  const before = await stats();
  const [entry] = await ask(chat, [
    { calls: [grep("failing")], usage: { prompt_tokens: 70_000, completion_tokens: 10 } },
    { status: 400, error: "the provider is out of order" },
  ]);
  assert.equal(entry.message.isError, true);
  const grown = (await stats()).tokens.total - before.tokens.total;
  // Before 0.99 a tool of Pi fails by throwing, which leaves no room for what it cost.
  assert.equal(entry.message.usage?.totalTokens, piIs("0.99") ? 70_010 : undefined);
  assert.equal(grown >= 70_010, piIs("0.99"), `${grown} tokens more`);
});

test("an answer without text gives what fits best", async (t) => {
  const chat = await compactedChat(t);
  const [entry] = await ask(chat, [" "]);
  assert.match(text(entry), /^The model gave no answer[\s\S]*failing output, line 2 of 2: 4712/);
  assert.equal(entry.message.isError, true);
});

test("Escape ends a lookup at once, without another step", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "pi-test-log-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const log = join(folder, "log");
  const chat = await compactedChat(t, { env: { PI_STET_LOG: log } });
  // The log is written behind the events.
  const steps = () => (existsSync(log) ? readFileSync(log, "utf8").split("\n").filter((line) => line.includes("context_lookup")).length : 0);
  const started = chat.pi.waitFor((event) => event.type === "tool_execution_update", "the lookup's first step");
  chat.ws.llm.addSteps({ toolCalls: [lookup()] }, { hang: true });
  await chat.pi.send({ type: "prompt", message: "Look it up." });
  await started;
  // The request of the lookup's model is under way.
  while (asked(chat).length === 0 || steps() === 0) await new Promise((resolve) => setTimeout(resolve, 20));
  const before = steps();
  const settled = chat.pi.waitFor("agent_settled");
  const begin = performance.now();
  await chat.pi.send({ type: "abort" });
  await settled;
  assert.ok(performance.now() - begin < 3000, "at once");
  const result = await chat.newest(isToolResult);
  assert.equal(result.message.isError, true);
  assert.equal(asked(chat).length, 1);
  await new Promise((resolve) => setTimeout(resolve, 100));
  assert.equal(steps(), before, "no further step of the binary");
  const [next] = await ask(chat, ["It was 4712."]);
  assert.equal(text(next), "It was 4712.");
});

test("Escape in the middle of a search ends it too, and nothing of it is said", async (t) => {
  const chat = await compactedChat(t);
  chat.ws.llm.addSteps({ toolCalls: [lookup()] }, { text: "So far: 4712.", toolCalls: [grep("failing")] }, { hang: true });
  const second = chat.pi.waitFor(({ type, partialResult }) => type === "tool_execution_update" && /step 2/.test(textOf(partialResult.content)), "its second step");
  await chat.pi.send({ type: "prompt", message: "Look it up." });
  await second;
  while (asked(chat).length < 2) await new Promise((resolve) => setTimeout(resolve, 20));
  const settled = chat.pi.waitFor("agent_settled");
  await chat.pi.send({ type: "abort" });
  await settled;
  const result = await chat.newest(isToolResult);
  assert.deepEqual([result.message.isError, text(result)], [true, "Aborted."]);
  assert.equal(asked(chat).length, 2);
  const [next] = await ask(chat, ["It was 4712."]);
  assert.equal(text(next), "It was 4712.", "an aborted attempt does not count");
});

test("a configured model that is not there is an error, not a silent switch", async (t) => {
  const chat = await compactedChat(t, { env: { PI_STET_LOOKUP_MODEL: "nobody/nothing" } });
  const [entry] = await ask(chat, []);
  assert.match(text(entry), /there is no model nobody\/nothing/);
  assert.equal(entry.message.isError, true);
  assert.equal(asked(chat).length, 0, "no other model was asked");
});

test("a configured model answers in place of the session's", async (t) => {
  const chat = await compactedChat(t, { env: { PI_STET_LOOKUP_MODEL: "fake/fake-1" } });
  const [entry] = await ask(chat, ["It was 4712."]);
  assert.equal(text(entry), "It was 4712.");
  assert.equal(asked(chat)[0].body.model, "fake-1");
});

test("one attempt, until other work is done", async (t) => {
  const chat = await compactedChat(t);
  // Siblings, narration and our own tools leave the limit as it is.
  const [first, sibling, narrated, searched] = await ask(chat, ["It was 4712."], {
    calls: [lookup(), lookup("And the first?")],
    after: [
      { say: "Let me ask again.", calls: [lookup("And the first?")] },
      { calls: [{ name: "context_grep", arguments: { pattern: "failing" } }] },
      { calls: [lookup("And the first?")] },
      "Enough.",
    ],
  });
  assert.equal(status(first), "answered");
  for (const entry of [sibling, narrated, searched]) {
    assert.equal(status(entry), "blocked");
    assert.match(text(entry), /^context_lookup was used 1 time since .* use context_grep and context_show_entry/);
  }
  // A search in the same message changes nothing either.
  const [used, besides] = await ask(chat, ["It was 4712."], {
    after: [{ calls: [{ name: "context_grep", arguments: { pattern: "failing" } }, lookup("And the first?")] }, "Enough."],
  });
  assert.deepEqual([status(used), status(besides)], ["answered", "blocked"]);
  // Another tool opens it again.
  const [before, after] = await ask(chat, ["First answer."], {
    after: [{ calls: [bash("true")] }, { calls: [lookup()] }, "Second answer.", "Good."],
  });
  assert.deepEqual([text(before), text(after)], ["First answer.", "Second answer."]);
});

test("the limit follows the branch: resume, tree and fork", async (t) => {
  const chat = await compactedChat(t);
  await chat.user("Look it up.", [{ calls: [lookup()] }, "It was 4712.", "Now I know."]);
  const used = await chat.leaf();
  await chat.resume();
  // What nobody asked for is no other work: not a note of an extension, nor the run it starts.
  const blocked = async (words) => {
    chat.ws.llm.addSteps({ toolCalls: [lookup()] }, { text: "No more then." });
    const settled = chat.pi.waitFor("agent_settled");
    await chat.helper(`wake nudge ${words}`);
    await settled;
    return chat.newest(isToolResult);
  };
  assert.equal(status(await blocked("Go on by yourself.")), "blocked", "after the restart");
  await chat.bash("true");
  chat.ws.llm.addSteps({ toolCalls: [lookup()] }, { text: "It was 4712." }, { text: "Now I know." });
  const settled = chat.pi.waitFor("agent_settled");
  await chat.helper("wake nudge Go on after my command.");
  await settled;
  assert.equal(text(await chat.newest(isToolResult)), "It was 4712.", "a command of the person's opens it");
  assert.equal(status(await blocked("And again.")), "blocked");
  const [again] = await ask(chat, ["It was 4712."]);
  assert.equal(status(again), "answered", "a user message opens it");
  await chat.helper(`tree ${used}`);
  const [there] = await ask(chat, ["Still 4712."]);
  assert.equal(text(there), "Still 4712.");
  const question = (await chat.branch()).findLast((entry) => entry.message?.role === "user");
  await chat.pi.send({ type: "fork", entryId: question.id });
  const [forked] = await ask(chat, [{ calls: [grep("failing output")] }, "4712 in the fork."]);
  assert.equal(text(forked), "4712 in the fork.");
  const page = textOf(asked(chat).at(-1).body.messages.at(-1).content);
  assert.ok(page.includes("failing output, line 2 of 2: 4712"), page);
});

test("a compaction in between leaves the limit as it is", async (t) => {
  const chat = await compactedChat(t);
  await chat.user("Look it up.", [{ calls: [lookup()] }, "It was 4712.", prose("what I know now", 1500)]);
  await chat.compact();
  chat.ws.llm.addSteps({ toolCalls: [lookup()] }, { text: "No more then." });
  const settled = chat.pi.waitFor("agent_settled");
  await chat.helper("wake nudge Go on by yourself.");
  await settled;
  assert.equal(status(await chat.newest(isToolResult)), "blocked");
});

test("another session is searched in place of this one, if it can be", async (t) => {
  const other = await openChat(t);
  await other.user("The password is swordfish.", ["Noted: swordfish."]);
  const file = await other.sessionFile();
  const unchanged = readFileSync(file, "utf8");
  const call = { name: "context_grep", arguments: { pattern: "swordfish" } };
  const result = async (chat) => {
    await chat.user("Search.", [{ calls: [call] }, "Searched."]);
    return chat.newest(isToolResult);
  };
  const good = await openChat(t, { env: { PI_STET_LOOKUP_SESSION_FILE: file } });
  assert.match(text(await result(good)), /^2 matching lines of "swordfish"/);
  assert.equal(readFileSync(file, "utf8"), unchanged);
  // The lookup searches there as well, and what is said there later; the limit is that of this session.
  const [found, blocked] = await ask(good, [{ calls: [grep("swordfish")] }, 'They said "Noted: swordfish."'], { calls: [lookup("Which password?"), lookup("Which?")] });
  assert.equal(text(found), 'They said "Noted: swordfish."', "the quote stands there");
  assert.equal(status(blocked), "blocked");
  const left = await other.leaf();
  await other.user("Changed to halibut.", ["Noted: halibut."]);
  const there = { name: "context_grep", arguments: { pattern: "halibut" } };
  await good.user("Search again.", [{ calls: [there] }, "Searched."]);
  assert.match(text(await good.newest(isToolResult)), /^2 matching lines of "halibut"/);
  await other.helper(`tree ${left}`);
  await other.user("Changed to trout.", ["Noted: trout."]);
  await good.user("And again.", [{ calls: [there] }, "Searched."]);
  assert.match(text(await good.newest(isToolResult)), /^No matches/, "not on branches that were left");
  const notes = join(other.ws.root, "notes.txt");
  writeFileSync(notes, "just notes\n");
  const empty = join(other.ws.root, "empty.jsonl");
  writeFileSync(empty, "");
  for (const bad of ["relative.jsonl", empty, join(other.ws.root, "missing.jsonl"), notes, other.ws.root]) {
    const chat = await openChat(t, { env: { PI_STET_LOOKUP_SESSION_FILE: bad } });
    const entry = await result(chat);
    assert.equal(entry.message.isError, true, bad);
    assert.match(text(entry), /^PI_STET_LOOKUP_SESSION_FILE: /);
  }
});
