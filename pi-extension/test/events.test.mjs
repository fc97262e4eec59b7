// Every event of the manifest, seen from both ends: what the binary was given,
// and what Pi did with its answer.
import assert from "node:assert/strict";
import { test } from "node:test";
import { PI_VERSION, piIs, startPiRpc } from "../../tests/pi/harness/harness.mjs";
import { EXTENSION, isAlive, OTHER_EXTENSION, OTTER, talk, textOf, until, withPi } from "./support.mjs";

/** In RPC mode Pi before 0.99 tells of a new session twice. */
const NEW = piIs("0.99") ? ["new"] : ["new", "new"];

const toolNames = (request) => request.tools.map((tool) => tool.function.name);
const userTexts = (request) => request.messages.filter((m) => m.role === "user").map((m) => textOf(m.content));
const systemText = (request) => textOf(request.messages[0].content);

test("a session with compaction: each hook once, its answer in the session and in the request", async () => {
  await withPi({}, async (pi) => {
    await talk(pi);
    const before = pi.requests().length;
    await pi.send({ type: "compact", customInstructions: "keep the rivers" });
    assert.equal(pi.requests().length, before, "no model was called for the compaction");

    const [start] = pi.envelopes("session_start");
    assert.equal(start.protocol, 1);
    assert.deepEqual(start.payload, { reason: "startup" });
    assert.ok(Array.isArray(start.session.branch), "no file yet: the branch is inline");
    assert.equal(start.host.inRun, false);
    assert.equal(start.host.version, PI_VERSION);
    assert.equal(start.host.mode, "rpc");
    assert.equal(start.host.agentDir, pi.ws.agentDir);
    assert.deepEqual(start.host.compaction, { reserveTokens: 4000, keepRecentTokens: 50 });
    assert.deepEqual(start.model, { provider: "fake", id: "fake-1", api: "openai-completions", contextWindow: 32000 });

    const [compact] = pi.envelopes("session_before_compact");
    const [file] = pi.ws.sessionFiles();
    assert.equal(compact.session.file, file);
    assert.equal(compact.session.branch, undefined);
    assert.equal(compact.session.cwd, pi.ws.cwd);
    assert.deepEqual(compact.payload, { reason: "manual", willRetry: false, customInstructions: "keep the rivers" });
    assert.deepEqual(compact.host.compaction, { reserveTokens: 4000, keepRecentTokens: 50 });
    assert.deepEqual(compact.contextFiles, [{ path: `${pi.ws.cwd}/AGENTS.md`, content: "Otters rule here.\n" }]);
    assert.equal(compact.systemPrompt, undefined, "the branch has it");
    assert.equal(compact.record, undefined);
    assert.equal(compact.now, undefined);

    const [saved] = pi.compactions();
    assert.match(saved.summary, /^OTTER KEEPS \d+ entries, manual/);
    assert.equal(saved.firstKeptEntryId, compact.cut.firstKeptEntryId);
    assert.equal(saved.tokensBefore, compact.cut.tokensBefore);
    assert.equal(compact.cut.isSplitTurn, false);
    assert.equal(saved.fromHook, true);
    assert.equal(saved.details.by, "otter");
    assert.equal(compact.session.leafId, saved.parentId);

    const [after] = pi.envelopes("session_compact");
    assert.equal(after.payload.compactionId, saved.id);
    assert.equal(after.payload.answered, true);
    assert.equal(after.payload.fromExtension, true);
    assert.ok(after.payload.elapsedMs >= 1 && after.payload.elapsedMs < 1500);
    assert.equal(after.session.leafId, saved.id);
    const mark = pi.entries().find((entry) => entry.customType === "otter.saved");
    assert.equal(mark.parentId, saved.id);

    await pi.prompt("and now?");
    const [agentStart] = pi.envelopes("before_agent_start");
    assert.deepEqual(agentStart.payload, { messageType: "user" });
    assert.equal(agentStart.contextFiles, undefined, "not on every prompt");
    const note = pi.entries().find((entry) => entry.type === "custom_message");
    assert.equal(note.content, "OTTER NOTE for a user run");

    const [context] = pi.envelopes("context_with_system");
    const roles = context.payload.messages.map((message) => message.role);
    assert.equal(roles[0], "system");
    assert.equal(roles[1], "compactionSummary");
    const skeleton = context.payload.messages.find((message) => message.customType === "otter.note");
    assert.deepEqual(Object.keys(skeleton).sort(), ["customType", "details", "role", "timestamp"]);
    assert.deepEqual(skeleton.details, { nr: 1 });
    assert.ok(!JSON.stringify(context.payload).includes("rivers"), "no contents");
    assert.equal(context.host.inRun, true);
    const sent = userTexts(pi.requests().at(-1)).slice(-3);
    assert.deepEqual(sent, ["and now?", "OTTER INSERTED", "OTTER NOTE for a user run"]);

    assert.deepEqual(pi.extensionErrors(), []);
    assert.equal(pi.stderr(), "");
  });
});

test("a hook with `when: compacted` starts no process before the first compaction", async () => {
  await withPi({}, async (pi) => {
    await talk(pi, 2);
    assert.deepEqual(pi.envelopes().map((e) => e.event), ["session_start"]);
  });
});

test("without a session file the branch goes inline, labels and all", async () => {
  await withPi({ args: ["--no-session"] }, async (pi) => {
    await talk(pi);
    await pi.send({ type: "compact" });
    assert.deepEqual(pi.ws.sessionFiles(), []);
    const [compact] = pi.envelopes("session_before_compact");
    assert.equal(compact.session.file, undefined);
    assert.deepEqual(compact.session.labels, {});
    const users = compact.session.branch.filter((entry) => entry.message?.role === "user");
    assert.equal(users.length, 3);
    const { data } = await pi.send({ type: "get_messages" });
    assert.match(data.messages.find((m) => m.role === "compactionSummary").summary, /^OTTER KEEPS/);
  });
});

test("a file that is not the session in memory: the call is repeated inline, once", async () => {
  await withPi({ env: { OTTER_COMPACT: "stale" } }, async (pi) => {
    await talk(pi);
    await pi.send({ type: "compact" });
    const sessions = pi.envelopes("session_before_compact").map((e) => (e.session.file ? "file" : "inline"));
    assert.deepEqual(sessions, ["file", "inline"]);
    assert.match(pi.compactions()[0].summary, /^OTTER KEEPS/);
    assert.equal(pi.summariserCalls(), 0);
  });
});

test("tree navigation: the leaf goes along, also where it is not the last line of the file", async () => {
  await withPi({ after: [OTHER_EXTENSION] }, async (pi) => {
    await talk(pi, 2);
    const entries = pi.entries();
    const first = entries.find((entry) => entry.message?.role === "assistant");
    assert.notEqual(first.id, entries.at(-1).id);
    await pi.prompt(`/other tree ${first.id}`);
    const [moved] = pi.envelopes("session_tree");
    assert.deepEqual(moved.payload, { newLeafId: first.id });
    assert.equal(moved.session.leafId, first.id);
    assert.ok(pi.notices().some(({ message }) => message === `otter moved to ${first.id}`));
    assert.deepEqual(pi.extensionErrors(), []);
  });
});

test("overflow: Pi compacts with ours and repeats the request", async () => {
  const overflow = {
    status: 400,
    error: "This model's maximum context length is 32000 tokens. However, your messages resulted in 99000 tokens.",
  };
  const settings = { compaction: { enabled: true, reserveTokens: 4000, keepRecentTokens: 50 } };
  await withPi({ steps: [{ text: "one" }, { text: "two" }, overflow, { text: "retried" }], settings }, async (pi) => {
    await talk(pi, 2);
    await pi.prompt("this one overflows");
    const [before] = pi.envelopes("session_before_compact");
    assert.deepEqual(before.payload, { reason: "overflow", willRetry: true });
    assert.deepEqual(pi.envelopes("session_compact").map((e) => e.payload.willRetry), [true]);
    assert.equal(pi.summariserCalls(), 0);
    assert.ok(JSON.stringify(pi.requests().at(-1)).includes("OTTER KEEPS"));
  });
});

test("threshold between two turns of a run: the envelope says so", async () => {
  const steps = [
    { text: "one" },
    { text: "looking", toolCalls: [{ name: "dive", arguments: { where: "the bay" } }], usage: { prompt_tokens: 31000 } },
    { text: "done" },
  ];
  const settings = { compaction: { enabled: true, reserveTokens: 4000, keepRecentTokens: 50 } };
  await withPi({ steps, settings }, async (pi) => {
    await pi.prompt(`first ${"about rivers ".repeat(20)}`);
    await pi.prompt(`second ${"about rivers ".repeat(20)}`);
    const [before] = pi.envelopes("session_before_compact");
    assert.equal(before.payload.reason, "threshold");
    assert.equal(before.host.inRun, true);
    assert.equal(before.host.pendingMessages, false);
    assert.equal(pi.summariserCalls(), 0);
    assert.ok(JSON.stringify(pi.requests().at(-1)).includes("OTTER KEEPS"));
  });
});

test("a compaction that the binary cancels fails as cancelled", async () => {
  await withPi({ env: { OTTER_COMPACT: "cancel" } }, async (pi) => {
    await talk(pi);
    await assert.rejects(pi.send({ type: "compact" }), /cancelled/);
    await until(() => pi.envelopes("session_compact_failed").length, "the failed event");
    const [failed] = pi.envelopes("session_compact_failed");
    assert.equal(failed.payload.reason, "manual");
    assert.equal(failed.payload.aborted, true);
    assert.equal(failed.session, undefined, "its hook wants no session");
    assert.deepEqual(pi.compactions(), []);
    assert.equal(pi.summariserCalls(), 0);
  });
});

for (const answer of ["none", "null", "empty"]) {
  test(`no opinion (${answer}) leaves an earlier extension's compaction in place`, async () => {
    await withPi({ before: [OTHER_EXTENSION], env: { OTTER_COMPACT: answer } }, async (pi) => {
      await talk(pi);
      await pi.prompt("/other replace");
      await pi.send({ type: "compact" });
      assert.deepEqual(pi.compactions().map((entry) => entry.summary), ["ANOTHER SUMMARY"]);
      const [saved] = pi.envelopes("session_compact");
      assert.equal(saved.payload.answered, false);
      assert.equal(saved.payload.elapsedMs, 0);
      assert.ok(!pi.warnings().some((text) => text.includes("replaced")));
    });
  });
}

test("an extension that answers after us is named as having replaced ours", async () => {
  await withPi({ after: [OTHER_EXTENSION] }, async (pi) => {
    await talk(pi);
    await pi.prompt("/other replace");
    await pi.send({ type: "compact" });
    assert.deepEqual(pi.compactions().map((entry) => entry.summary), ["ANOTHER SUMMARY"]);
    assert.equal(pi.warnings().filter((text) => text.includes("another extension replaced")).length, 1);
  });
  await withPi({ after: [OTHER_EXTENSION] }, async (pi) => {
    await talk(pi);
    await pi.prompt("/other empty");
    await pi.send({ type: "compact" });
    assert.equal(pi.summariserCalls(), 1, "Pi's own summary took the place of ours");
    assert.equal(pi.warnings().filter((text) => text.includes("replaced")).length, 1);
  });
});

test("effects happen in their order; one that this host does not know costs the others nothing", async () => {
  await withPi({}, async (pi) => {
    await talk(pi, 1);
    await pi.prompt("/otter effects");
    const added = pi.entries().filter((e) => e.customType?.startsWith("otter."));
    assert.deepEqual(added.map((e) => e.data?.n ?? e.content), [1, "OTTER SENT", 2]);
    assert.deepEqual(added[1].details, { sent: true });
    const told = pi.notices().slice(-3);
    assert.deepEqual(told.map((notice) => notice.level), ["warning", "warning", "error"]);
    assert.equal(told[0].message, "first");
    assert.match(told[1].message, /the effect dance/);
    assert.equal(told[2].message, "last");
    const statuses = pi.events.filter((e) => e.method === "setStatus" && e.statusKey === "otter").map((e) => e.statusText);
    assert.deepEqual(statuses, ["awake", undefined]);
  });
});

test("a message with triggerTurn starts a run of its own", async () => {
  await withPi({}, async (pi) => {
    await talk(pi);
    await pi.send({ type: "compact" });
    const settled = pi.waitFor("agent_settled");
    await pi.prompt("/otter wake-model");
    await settled;
    assert.ok(userTexts(pi.requests().at(-1)).includes("OTTER CALLS"));
    // Before 1.2 Pi has no before_agent_start for such runs; context_with_system is all there is.
    assert.equal(pi.envelopes("before_agent_start").at(-1)?.payload.messageType, piIs("1.2") ? "custom" : undefined);
    assert.ok(userTexts(pi.requests().at(-1)).includes("OTTER INSERTED"));
  });
});

test("setActive switches hooks, tools and prompt sections; what the user turned off stays off", async () => {
  await withPi({ after: [OTHER_EXTENSION] }, async (pi) => {
    await pi.prompt("hello");
    const asleep = pi.requests().at(-1);
    assert.ok(toolNames(asleep).includes("dive") && toolNames(asleep).includes("crack"));
    assert.ok(!toolNames(asleep).includes("float"));
    assert.match(systemText(asleep), /<otter_manners>\s*Hold hands while asleep\.\s*<\/otter_manners>/);
    assert.match(systemText(asleep), /dive for things/);
    assert.match(systemText(asleep), /Dive before you swim\./);
    assert.ok(!systemText(asleep).includes("otter_games"));
    assert.deepEqual(pi.envelopes("turn_end"), []);

    await pi.prompt("/other off dive");
    await pi.prompt("/otter awake");
    await pi.prompt("hello again");
    const awake = pi.requests().at(-1);
    assert.ok(toolNames(awake).includes("float"), "enabled");
    assert.ok(!toolNames(awake).includes("crack"), "disabled");
    assert.ok(!toolNames(awake).includes("dive"), "the user turned it off");
    const [turn] = pi.envelopes("turn_end");
    const lastAssistant = pi.entries().findLast((entry) => entry.message?.role === "assistant");
    assert.deepEqual(turn.payload, { turnIndex: 0, messageEntryId: lastAssistant.id, toolResultEntryIds: [], outcome: "completed" });
    assert.match(JSON.stringify(awake.messages), /Slide down the bank/);

    await pi.prompt("/other on dive");
    await pi.prompt("/otter asleep");
    await pi.prompt("/otter awake");
    await pi.prompt("/otter asleep");
    await pi.prompt("good night");
    const later = pi.requests().at(-1);
    assert.ok(toolNames(later).includes("dive"), "the user turned it on again");
    assert.ok(toolNames(later).includes("crack") && !toolNames(later).includes("float"));
    assert.equal(pi.envelopes("turn_end").length, 1, "no longer subscribed");
    assert.deepEqual(pi.extensionErrors(), []);
  });
});

test("a resumed session: tools that the binary had left off can be switched on again", async () => {
  await withPi({}, async (pi) => {
    // Pi only remembers a tool as removed when a request has declared it before.
    await pi.prompt("hello");
    await pi.prompt("/otter awake");
    await pi.prompt("hello");
    assert.ok(!toolNames(pi.requests().at(-1)).includes("crack"));
    await pi.close();
    const [file] = pi.ws.sessionFiles();
    const again = startPiRpc(pi.ws, { extensions: [EXTENSION], args: ["--session", file], env: { PI_STET_BIN: OTTER } });
    try {
      await again.prompt("hello again");
      // From 1.3 on Pi restores what the transcript has; before, all but what is off from the start is on.
      assert.equal(toolNames(pi.requests().at(-1)).includes("crack"), !piIs("1.3"));
      assert.equal(toolNames(pi.requests().at(-1)).includes("float"), piIs("1.3"));
      await again.prompt("/otter asleep");
      await again.prompt("and again");
      assert.ok(toolNames(pi.requests().at(-1)).includes("crack"));
      assert.ok(!toolNames(pi.requests().at(-1)).includes("float"));
    } finally {
      await again.close();
    }
  });
});

test("a new session gets an instance of its own; a call that outlives its session ends quietly", async () => {
  await withPi({}, async (pi) => {
    await talk(pi, 1);
    const hanging = pi.send({ type: "prompt", message: "/otter hang" });
    hanging.catch(() => {});
    const { pid } = await until(() => pi.envelopes("command")[0], "the hanging command");
    await pi.send({ type: "new_session" });
    await until(() => !isAlive(pid), "the end of the child");
    await pi.prompt("hello from the new session");
    assert.deepEqual(pi.envelopes("session_start").map((e) => e.payload.reason), ["startup", ...NEW]);
    assert.deepEqual(pi.extensionErrors(), []);
    assert.ok(!pi.warnings().some((text) => text.includes("hang")));
  });
});
