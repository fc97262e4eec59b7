// Tools of the manifest: results, failures, progress, and models asked on their behalf.
import assert from "node:assert/strict";
import { test } from "node:test";
import { piIs } from "../../tests/pi/harness/harness.mjs";
import { isAlive, until, withPi } from "./support.mjs";

const call = (name, where) => ({ toolCalls: [{ id: "call_7", name, arguments: { where } }] });
const results = (pi) => pi.entries().filter((entry) => entry.message?.role === "toolResult").map((entry) => entry.message);

test("a tool's call reaches the binary, its content and details the session", async () => {
  await withPi({ steps: [call("dive", "the bay"), { text: "I see" }] }, async (pi) => {
    await pi.prompt("dive");
    const [envelope] = pi.envelopes("tool");
    assert.deepEqual(envelope.payload, { name: "dive", toolCallId: "call_7", params: { where: "the bay" } });
    assert.equal(envelope.host.inRun, true);
    assert.ok(envelope.session.file);
    const [result] = results(pi);
    assert.deepEqual(result.content, [{ type: "text", text: "found kelp at the bay\nand more" }]);
    assert.deepEqual(result.details, { depth: 3 });
    assert.equal(result.isError, false);
  });
});

test("isError of the result arrives as an error, with its details from 0.99 on", async () => {
  await withPi({ steps: [call("crack", "the shell"), { text: "I see" }] }, async (pi) => {
    await pi.prompt("crack");
    const [result] = results(pi);
    assert.equal(result.isError, true);
    // Before, a tool of Pi fails by throwing, which leaves no room for details.
    assert.deepEqual(result.details, piIs("0.99") ? { hard: true } : {});
    assert.match(JSON.stringify(pi.requests().at(-1).messages.at(-1)), /the shell is too hard/);
  });
});

test("arguments that do not fit the schema never reach the binary", async () => {
  await withPi({ steps: [{ toolCalls: [{ name: "dive", arguments: { where: [1] } }] }, { text: "I see" }] }, async (pi) => {
    await pi.prompt("dive");
    assert.deepEqual(pi.envelopes("tool"), []);
    assert.equal(results(pi)[0].isError, true);
  });
});

test("a tool without an answer tells the model, and the person once", async () => {
  const fault = { fail: "crash", on: "tool" };
  await withPi({ fault, steps: [call("dive", "a"), call("dive", "b"), { text: "I see" }] }, async (pi) => {
    await pi.prompt("dive");
    assert.deepEqual(results(pi).map((result) => result.isError), [true, true]);
    assert.match(results(pi)[0].content[0].text, /has no answer: it ended with status 70/);
    assert.equal(pi.warnings().filter((text) => text.includes("status 70")).length, 1);
  });
});

test("two completions in one tool call, with progress in between", async () => {
  const rules = [{ when: { systemIncludes: "OTTER SUB", lastUserIncludes: "round 1" }, reply: { text: "kelp is green" } },
    { when: { systemIncludes: "OTTER SUB", lastUserIncludes: "round 2" }, reply: { text: "kelp is brown" } }];
  await withPi({ rules, steps: [call("dive", "model"), { text: "I see" }] }, async (pi) => {
    await pi.prompt("dive");
    const [result] = results(pi);
    assert.equal(result.content[0].text, "the model said: kelp is green / kelp is brown");
    assert.ok(result.usage.totalTokens > 0);

    const subs = pi.requests().filter((body) => JSON.stringify(body.messages[0]).includes("OTTER SUB"));
    assert.equal(subs.length, 2);
    assert.equal(subs[0].model, "fake-1");
    assert.equal(subs[0].max_tokens, 77);
    assert.deepEqual(subs[0].tools.map((tool) => tool.function.name), ["sniff"]);

    const [first, second, third] = pi.envelopes("tool");
    assert.equal(first.completion, undefined);
    assert.equal(second.completion.message.content[0].text, "kelp is green");
    assert.deepEqual(second.state, { round: 1, said: [] });
    assert.equal(third.completion.message.role, "assistant");
    assert.deepEqual(third.state, { round: 2, said: ["kelp is green"] });

    const updates = pi.events.filter((e) => e.type === "tool_execution_update").map((e) => e.partialResult.content[0].text);
    assert.deepEqual(updates, ["consulting, round 1", "consulting, round 2"]);
  });
});

test("why there is no completion: a model that does not exist, a provider that fails, one that is silent", async () => {
  const sub = (reply) => [{ when: { systemIncludes: "OTTER SUB" }, reply }];
  await withPi({ steps: [call("dive", "nowhere"), { text: "I see" }] }, async (pi) => {
    await pi.prompt("dive");
    assert.equal(results(pi)[0].content[0].text, "no model: unresolvedModel: there is no model sea/none");
  });
  await withPi({ rules: sub({ status: 400, error: "the tide is out" }), steps: [call("dive", "model"), { text: "I see" }] }, async (pi) => {
    await pi.prompt("dive");
    assert.match(results(pi)[0].content[0].text, /^no model: provider: .*the tide is out/);
  });
  await withPi({ rules: sub({ hang: true }), steps: [call("dive", "model"), { text: "I see" }] }, async (pi) => {
    await pi.prompt("dive");
    assert.equal(results(pi)[0].content[0].text, "no model: provider: no answer within 1000 ms");
  });
});

test("abort during a tool call kills its process, and no further step follows", async () => {
  const fault = { fail: "hang", on: "tool" };
  await withPi({ fault, steps: [call("dive", "deep")] }, async (pi) => {
    const settled = pi.waitFor("agent_settled");
    await pi.send({ type: "prompt", message: "dive" });
    const { pid } = await until(() => pi.envelopes("tool")[0], "the tool");
    await pi.send({ type: "abort" });
    await settled;
    await until(() => !isAlive(pid), "the end of the child");
    assert.equal(pi.envelopes("tool").length, 1);
    assert.ok(!pi.warnings().some((text) => text.includes("tool call")));
  });
});
