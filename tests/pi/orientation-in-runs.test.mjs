// The message after a compaction in the middle of a run, or at its end, while somebody
// else has something to say as well: it comes after that, once, and starts no request.
import assert from "node:assert/strict";
import { join } from "node:path";
import test from "node:test";
import { openChat, prose } from "./chat.mjs";
import { bash } from "./harness/conversation.mjs";
import { HARNESS_DIR, piIs } from "./harness/harness.mjs";
import { textOf } from "./harness/server.mjs";
import {
  assertOriented,
  FULL,
  keepThis,
  OVERFLOW,
  OVERLOADED,
  placesIn,
  requestsWith,
  runCompactedInItsMiddle,
  savedFor,
  work,
} from "./orientation.mjs";

test("in the middle of a run the first request fails and Pi repeats it", async (t) => {
  const chat = await openChat(t, { settings: { retry: { enabled: true, maxRetries: 3, baseDelayMs: 10 } } });
  await runCompactedInItsMiddle(chat, [OVERLOADED, "The small file has twelve lines."]);
  const [requests] = await assertOriented(chat);
  assert.equal(requests.length, 2);
  assert.equal(JSON.stringify(requests[1].body.messages), JSON.stringify(requests[0].body.messages));
});

for (const [name, turns] of [
  ["and the next answer is the last", ["It has twelve lines."]],
  ["and the run goes on", [{ say: "Then the small one.", calls: [bash("cat small.txt")] }, "It has twelve lines."]],
]) {
  test(`the user steers in the middle of a run, ${name}`, async (t) => {
    const chat = await openChat(t);
    await runCompactedInItsMiddle(chat, turns, { steer: "No, the small file." });
    const [requests] = await assertOriented(chat);
    assert.equal(requests.length, turns.length);
    assert.equal(textOf(requests[0].body.messages.at(-2).content), "No, the small file.", "after the pending input");
    assert.equal((await savedFor(chat)).length, 1, "it is saved all the same");
    await chat.user("What now?", ["Now we go on."]);
    await assertOriented(chat);
    assert.equal((await savedFor(chat)).length, 1);
  });
}

test("a follow-up waits in the middle of a run", async (t) => {
  const chat = await openChat(t);
  await runCompactedInItsMiddle(chat, ["It has sixty lines.", "The small one has twelve."], { follow_up: "And the small file?" });
  const [[first, second, ...more]] = await assertOriented(chat);
  assert.deepEqual(more, []);
  assert.equal(first.body.messages.at(-2).role, "tool", "the follow-up comes in its turn");
  assert.equal(textOf(second.body.messages.at(-1).content), "And the small file?");
  assert.equal((await savedFor(chat)).length, 1);
});

for (const [how, turns] of [
  ["steer", ["Both are answered."]],
  ["followUp", ["The first is answered.", "The second is answered."]],
]) {
  test(`a message is queued (${how}) while a run is compacted in its middle`, async (t) => {
    const chat = await openChat(t);
    await chat.helper(`queue ${how} The queued question.`);
    await runCompactedInItsMiddle(chat, turns);
    const [requests] = await assertOriented(chat);
    assert.equal(requests.length, turns.length);
    const heard = requests.at(-1).body.messages.filter((message) => textOf(message.content) === "The queued question.");
    assert.equal(heard.length, 1);
  });

  test(`a message is queued (${how}) while a finished run is compacted`, async (t) => {
    const chat = await openChat(t);
    await work(chat);
    await keepThis(chat);
    await chat.helper(`queue ${how} The queued question.`);
    await chat.user("The last question.", [{ say: prose("the last answer", 2000), ...FULL }, "The queued question is answered."]);
    const [requests] = await assertOriented(chat);
    assert.equal(requests.length, 1, "one request, for the question");
    assert.equal(textOf(requests[0].body.messages.at(-2).content), "The queued question.");
    await chat.user("What now?", ["Now we go on."]);
    await assertOriented(chat);
    assert.equal((await savedFor(chat)).length, 1);
  });

  test(`a message is queued (${how}) while a failed request is made to fit`, async (t) => {
    const chat = await openChat(t, { window: 20_000 });
    await work(chat);
    await keepThis(chat);
    await chat.helper(`queue ${how} The queued question.`);
    await chat.user("The request that is too long.", [OVERFLOW, ...turns]);
    const [requests] = await assertOriented(chat);
    assert.equal(requests.length, turns.length);
  });
}

test("a virtual model: Pi compacts after it has looked for queued messages", async (t) => {
  const chat = await openChat(t, { extensions: [join(HARNESS_DIR, "router-extension.ts")] });
  if (!piIs("0.99")) {
    // There are none: Pi says so and ends.
    assert.equal((await chat.pi.exit).code, 1);
    return assert.match(chat.pi.stderr(), /registerVirtualModel is not a function/);
  }
  await chat.pi.send({ type: "set_model", provider: "fake", modelId: "router" });
  await runCompactedInItsMiddle(chat, ["It has sixty lines."]);
  const [requests] = await assertOriented(chat);
  assert.equal(requests.length, 1, "no request of its own");
  assert.equal((await savedFor(chat)).length, 1);
});

test("an extension's message is queued in the middle of a run: no request ends in an answer", async (t) => {
  // Pi tells nobody about such messages. It delivers ours after this one, with a request of its own.
  const chat = await openChat(t);
  await chat.helper("queue note A note of the helper.");
  await runCompactedInItsMiddle(chat, ["It has sixty lines.", "Yes."]);
  for (const request of chat.ws.llm.requests()) assert.notEqual(request.body.messages.at(-1).role, "assistant");
  const [compaction] = await chat.compactions();
  for (const request of requestsWith(chat, compaction)) assert.equal(placesIn(request).at(-1), request.body.messages.length - 1);
});

test("/compact ends a run while the user's words are queued", async (t) => {
  const chat = await openChat(t);
  await work(chat);
  await keepThis(chat);
  chat.ws.llm.addSteps({ text: prose("looking at the file", 1200), toolCalls: [bash("sleep 20")] });
  const started = chat.pi.waitFor("tool_execution_start");
  await chat.pi.send({ type: "prompt", message: "Look at the file." });
  await started;
  await chat.pi.send({ type: "steer", message: "The queued question." });
  await chat.compact();
  assert.deepEqual(await savedFor(chat), [], "nothing runs, nothing was added");
  const before = chat.ws.llm.requests().length;
  await chat.user("What now?", ["Now we go on."]);
  assert.equal(chat.ws.llm.requests().length, before + 1);
  const [[request]] = await assertOriented(chat);
  const said = request.body.messages.slice(-3).map((message) => textOf(message.content));
  assert.deepEqual(said.slice(0, 2).sort(), ["The queued question.", "What now?"], "after both");
  await chat.user("And now?", ["On and on."]);
  await assertOriented(chat);
  assert.equal((await savedFor(chat)).length, 1);
});
