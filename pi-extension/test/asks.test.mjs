// Dialogues: each kind of ask, each kind of answer, and their ends.
import assert from "node:assert/strict";
import { test } from "node:test";
import { makeWorkspace, runPiPrint } from "../../tests/pi/harness/harness.mjs";
import { EXTENSION, isAlive, OTTER, talk, until, withPi } from "./support.mjs";

const lastNotice = (pi) => pi.notices().at(-1).message;

test("select, confirm and input reach the person, the answers reach the binary", async () => {
  const onDialog = ({ method }) => ({ select: { value: "b" }, confirm: { confirmed: true }, input: { value: "kelp" } })[method];
  await withPi({ onDialog }, async (pi) => {
    await pi.prompt("/otter ask");
    const dialogs = pi.events.filter((e) => ["select", "confirm", "input"].includes(e.method));
    assert.deepEqual(
      dialogs.map(({ method, title, message, options }) => ({ method, title, message, options })),
      [
        { method: "select", title: "otter select?\ntwo lines", message: undefined, options: ["a", "b"] },
        { method: "confirm", title: "otter confirm?", message: "sure?", options: undefined },
        { method: "input", title: "otter input?", message: undefined, options: undefined },
      ],
    );
    assert.equal(lastNotice(pi), `answers: ${JSON.stringify({ select: { value: "b" }, confirm: { value: true }, input: { value: "kelp" } })}`);
    assert.equal(pi.envelopes("command").length, 4);
  });
});

test("a dismissed dialog is cancelled, a confirm that is not confirmed is false", async () => {
  await withPi({ onDialog: ({ method }) => method && ["select", "confirm", "input"].includes(method) && { cancelled: true } }, async (pi) => {
    await pi.prompt("/otter ask");
    assert.equal(lastNotice(pi), `answers: ${JSON.stringify({ select: { cancelled: true }, confirm: { value: false }, input: { cancelled: true } })}`);
  });
});

test("an ask that nobody answers times out by the extension's clock", async () => {
  await withPi({}, async (pi) => {
    const started = Date.now();
    await pi.prompt("/otter late");
    assert.ok(Date.now() - started >= 150);
    assert.equal(lastNotice(pi), `late: ${JSON.stringify({ select: { timedOut: true } })}`);
  });
});

test("a dialogue inside a compaction: state and answers come back, the cut stays", async () => {
  const onDialog = ({ method }) => method === "select" && { value: "long" };
  await withPi({ env: { OTTER_COMPACT: "ask" }, onDialog }, async (pi) => {
    await talk(pi);
    await pi.send({ type: "compact" });
    const [first, second] = pi.envelopes("session_before_compact");
    assert.equal(first.answers, undefined);
    assert.deepEqual(second.answers, { select: { value: "long" } });
    assert.deepEqual(second.state, { asked: true });
    assert.deepEqual(second.cut, first.cut);
    const [saved] = pi.compactions();
    assert.match(saved.summary, /"value":"long"/);
    assert.deepEqual(saved.details.state, { asked: true });
  });
});

test("without a UI an ask is cancelled, and notices go to stderr, never to stdout", async () => {
  const ws = await makeWorkspace({});
  try {
    const env = { PI_STET_BIN: OTTER };
    const { code, stdout, stderr } = await runPiPrint(ws, "/otter ask", { extensions: [EXTENSION], env });
    assert.equal(code, 0);
    assert.equal(stdout, "");
    assert.ok(stderr.includes(`answers: ${JSON.stringify({ select: { cancelled: true }, confirm: { cancelled: true }, input: { cancelled: true } })}`), stderr);
  } finally {
    await ws.dispose();
  }
});

test("abort during a dialogue ends the whole sequence: no further step", async () => {
  const steps = [{ toolCalls: [{ name: "dive", arguments: { where: "question" } }] }];
  await withPi({ steps }, async (pi) => {
    const dialog = pi.waitFor((e) => e.method === "input");
    const settled = pi.waitFor("agent_settled");
    await pi.send({ type: "prompt", message: "dive" });
    await dialog;
    await pi.send({ type: "abort" });
    await settled;
    assert.equal(pi.envelopes("tool").length, 1);
    assert.equal(pi.requests().length, 1);
    assert.deepEqual(pi.extensionErrors(), []);
  });
});

test("a sequence longer than the binary announced is a failure, not a loop", async () => {
  const steps = [{ toolCalls: [{ name: "dive", arguments: { where: "forever" } }] }, { text: "I see" }];
  await withPi({ steps }, async (pi) => {
    await pi.prompt("dive");
    assert.equal(pi.envelopes("tool").length, 3, "two more steps were announced, each reply asks for another");
    const result = pi.entries().find((entry) => entry.message?.role === "toolResult");
    assert.equal(result.message.isError, true);
    assert.match(result.message.content[0].text, /more steps/);
  });
});

test("abort during a compaction kills the child, and nothing is appended", async () => {
  await withPi({ fault: { fail: "hang" } }, async (pi) => {
    await talk(pi);
    const lines = pi.entries().length;
    const compaction = pi.send({ type: "compact" });
    compaction.catch(() => {});
    const { pid } = await until(() => pi.envelopes("session_before_compact")[0], "the hanging hook");
    assert.equal(isAlive(pid), true);
    const aborted = Date.now();
    await pi.send({ type: "abort" });
    await assert.rejects(compaction, /cancelled/);
    assert.ok(Date.now() - aborted < 1000, "long before the time limit of the hook");
    await until(() => !isAlive(pid), "the end of the child");
    assert.equal(pi.entries().length, lines);
    assert.equal(pi.summariserCalls(), 0);
    await until(() => pi.envelopes("session_compact_failed")[0], "the failed event");
    assert.ok(!pi.warnings().some((text) => text.includes("no answer")), "a person's wish is no failure");
    await pi.prompt("still there?");
    assert.deepEqual(pi.extensionErrors(), []);
  });
});
