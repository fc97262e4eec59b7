#!/usr/bin/env node
// A second binary for the extension: it speaks the protocol and shares no name
// with the first. What it does is decided by the event and by its environment:
//   OTTER_LOG      file that gets every envelope as a line
//   OTTER_FAULT    file with { fail?, on?, manifest? }, read at each run:
//                    fail      how `hook` fails: crash garbage notJson hang flood half protocol status2 error
//                    on        the event on which it does (default: session_before_compact)
//                    manifest  how `manifest` fails: crash garbage protocol
//   OTTER_COMPACT  how it answers a compaction: answer (default) ask none null empty cancel unknownId stale
//   OTTER_LIMIT    the time limit of its hooks, tools and commands in milliseconds
import { appendFileSync, readFileSync, writeSync } from "node:fs";

const { OTTER_LOG, OTTER_FAULT, OTTER_COMPACT } = process.env;
const fault = OTTER_FAULT ? JSON.parse(readFileSync(OTTER_FAULT, "utf8")) : {};
const timeoutMs = Number(process.env.OTTER_LIMIT ?? 10000);

const LOOK = { type: "object", properties: { where: { type: "string" } }, required: ["where"] };
const hook = (event, more = {}) => ({ event, session: true, timeoutMs, active: true, ...more });
const tool = (name, more = {}) => ({
  name,
  label: name,
  description: `The tool ${name}.`,
  parameters: LOOK,
  session: true,
  timeoutMs,
  active: true,
  callLine: `${name} at {where}`,
  ...more,
});

const MANIFEST = {
  protocol: 1,
  name: "otter",
  version: "9.9.9",
  limits: { replyBytes: 64 * 1024 * 1024 },
  hooks: [
    hook("session_start"),
    hook("session_tree"),
    hook("session_before_compact"),
    hook("session_compact"),
    hook("session_compact_failed", { session: false }),
    hook("before_agent_start", { when: "compacted" }),
    hook("context_with_system", { when: "compacted" }),
    hook("turn_end", { active: false }),
    hook("moon_rises"),
  ],
  tools: [
    tool("dive", { promptSnippet: "dive for things", promptGuidelines: ["Dive before you swim."] }),
    tool("crack", { executionMode: "sequential" }),
    tool("float", { active: false }),
  ],
  commands: [
    {
      name: "otter",
      description: "Otter things",
      completions: [["ask", "awake", "effects"], ["loud", "low"]],
      session: false,
      timeoutMs,
    },
  ],
  promptSections: [
    { tag: "otter_manners", text: "Hold hands while asleep.", active: true },
    { tag: "otter_games", text: "Slide down the bank.", active: false },
  ],
  messageTypes: [{ customType: "otter.note", line: "otter left a note" }],
};

/** The branch, whichever way it was given. */
function branchOf(session) {
  if (session.branch) return session.branch;
  const entries = readFileSync(session.file, "utf8").trim().split("\n").map((line) => JSON.parse(line)).slice(1);
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  const branch = [];
  for (let entry = byId.get(session.leafId); entry; entry = byId.get(entry.parentId)) branch.unshift(entry);
  return branch;
}

const notify = (message, level = "info") => ({ type: "notify", level, message });
const ask = (kind, more) => ({ id: kind, kind, title: `otter ${kind}?`, timeoutMs: 5000, ...more });
const note = (content, details) => ({ customType: "otter.note", content, display: true, details });

const handlers = {
  session_start: ({ payload }) => ({ effects: [notify(`otter woke: ${payload.reason}`), { type: "setStatus", key: "otter", text: "awake" }] }),
  session_tree: ({ payload }) => ({ effects: [notify(`otter moved to ${payload.newLeafId}`)] }),
  session_before_compact(envelope) {
    const { cut, payload, now } = envelope;
    if (OTTER_COMPACT === "none") return {};
    if (OTTER_COMPACT === "null") return { result: null };
    if (OTTER_COMPACT === "empty") return { result: {} };
    if (OTTER_COMPACT === "cancel") return { result: { cancel: true } };
    if (OTTER_COMPACT === "ask" && !envelope.answers) {
      return { ask: ask("select", { message: "How?", options: ["short", "long"] }), stepsLeft: 1, state: { asked: true } };
    }
    const answer = envelope.answers?.select;
    if (answer?.cancelled) return { result: { cancel: true } };
    const branch = branchOf(envelope.session);
    const settings = envelope.settings ?? { depth: process.env.OTTER_DEPTH ?? "shallow" };
    const files = envelope.files ?? [{ role: "readme", path: "/otter", mtimeMs: 1.5, text: "kelp" }];
    const compaction = {
      summary: `OTTER KEEPS ${branch.length} entries, ${payload.reason}, ${settings.depth}, ${JSON.stringify(answer ?? null)} at ${now ?? Date.now()}`,
      firstKeptEntryId: OTTER_COMPACT === "unknownId" ? "ffffffff" : cut.firstKeptEntryId,
      tokensBefore: cut.tokensBefore,
      details: { by: "otter", state: envelope.state ?? null },
    };
    return { result: { compaction }, resolved: { settings, files }, progress: "never shown" };
  },
  session_compact: ({ payload }) => ({
    effects: [notify(`otter saved: answered=${payload.answered} extension=${payload.fromExtension}`), { type: "appendEntry", customType: "otter.saved", data: payload }],
  }),
  session_compact_failed: ({ payload }) => ({ effects: [notify(`otter failed: aborted=${payload.aborted}`)] }),
  before_agent_start: ({ payload }) => ({ result: { message: note(`OTTER NOTE for a ${payload.messageType} run`, { nr: 1 }) } }),
  // The note goes to the end, and one of its own before it.
  context_with_system({ payload }) {
    const all = payload.messages.map((_, index) => index);
    const notes = all.filter((index) => payload.messages[index].customType === "otter.note");
    const others = all.filter((index) => !notes.includes(index));
    return { result: { messages: [...others, note("OTTER INSERTED"), ...notes] } };
  },
  turn_end: ({ payload }) => ({ effects: [notify(`otter turn ${payload.turnIndex} ${payload.outcome}`)] }),
  tool(envelope) {
    const { name, params } = envelope.payload;
    if (name === "crack") return { result: { content: [{ type: "text", text: "the shell is too hard" }], details: { hard: true }, isError: true } };
    if (params.where === "model") return consult(envelope);
    if (params.where === "nowhere") return consult(envelope, "sea/none");
    if (params.where === "question") return { ask: ask("input", { timeoutMs: 60000 }), stepsLeft: 1 };
    if (params.where === "forever") return { ask: ask("confirm", { id: String(Math.random()), timeoutMs: 20 }), stepsLeft: 2 };
    return { result: { content: [{ type: "text", text: `found kelp at ${params.where}\nand more` }], details: { depth: 3 } } };
  },
  command(envelope) {
    const words = envelope.payload.args.split(" ");
    switch (words[0]) {
      case "ask":
        return interview(envelope);
      case "late":
        return envelope.answers ? { effects: [notify(`late: ${JSON.stringify(envelope.answers)}`)] } : { ask: ask("select", { options: ["x"], timeoutMs: 150 }), stepsLeft: 1 };
      case "awake":
        return { effects: [{ type: "setActive", enable: ["turn_end", "float", "dive", "otter_games"], disable: ["otter_manners", "crack"] }] };
      case "asleep":
        return { effects: [{ type: "setActive", enable: ["otter_manners", "crack"], disable: ["turn_end", "float", "otter_games"] }] };
      case "effects":
        return {
          effects: [
            notify("first", "warning"),
            { type: "appendEntry", customType: "otter.mark", data: { n: 1 } },
            { type: "sendMessage", message: note("OTTER SENT", { sent: true }), triggerTurn: false },
            { type: "appendEntry", customType: "otter.mark", data: { n: 2 } },
            { type: "setStatus", key: "otter", text: null },
            { type: "describeCommand", command: "compact", text: "Compact as otters do" },
            { type: "dance" },
            notify("last", "error"),
          ],
        };
      case "wake-model":
        return { effects: [{ type: "sendMessage", message: note("OTTER CALLS"), triggerTurn: true }] };
      case "hang":
        return hang();
      case "refuse":
        return { error: { code: "no-fish", message: "there is no fish", hint: "try /otter ask" } };
      default:
        return { effects: [notify(`otter heard "${envelope.payload.args}"`)] };
    }
  },
};

/** Two requests to a model, one after the other, with progress. */
function consult(envelope, model) {
  const { completion, state } = envelope;
  if (completion?.error) return { result: { content: [{ type: "text", text: `no model: ${completion.error.kind}: ${completion.error.message}` }], details: {} } };
  const round = (state?.round ?? 0) + 1;
  const said = completion ? [...state.said, completion.message.content.map((block) => block.text ?? "").join("")] : [];
  if (round > 2) return { result: { content: [{ type: "text", text: `the model said: ${said.join(" / ")}` }], details: {}, usage: completion.message.usage } };
  return {
    progress: `consulting, round ${round}`,
    stepsLeft: 2 - round + 1,
    state: { round, said },
    complete: {
      model,
      systemPrompt: "OTTER SUB",
      messages: [{ role: "user", content: [{ type: "text", text: `round ${round}` }] }],
      tools: [{ name: "sniff", description: "Sniff.", parameters: { type: "object", properties: {} } }],
      maxTokens: 77,
      sessionId: "otter-session",
      timeoutMs: 1000,
    },
  };
}

/** Each kind of ask in turn, then what was answered. */
function interview({ answers = {} }) {
  if (!answers.select) return { ask: ask("select", { message: "two lines", options: ["a", "b"] }), stepsLeft: 3 };
  if (!answers.confirm) return { ask: ask("confirm", { message: "sure?" }), stepsLeft: 2 };
  if (!answers.input) return { ask: ask("input"), stepsLeft: 1 };
  return { effects: [notify(`answers: ${JSON.stringify(answers)}`)] };
}

function hang() {
  for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}

const say = (reply) => writeSync(1, `${JSON.stringify({ protocol: 1, ...reply })}\n`);

function fail(how) {
  switch (how) {
    case "crash":
      process.stderr.write("otter slipped on a stone\n");
      return process.exit(70);
    case "garbage":
      return void writeSync(1, "{ this is no JSON");
    case "notJson":
      return void writeSync(1, '["a list"]');
    case "hang":
      return hang();
    case "flood": {
      const megabyte = Buffer.alloc(1024 * 1024, "x");
      for (let n = 0; n < 1024; n += 1) writeSync(1, megabyte);
      return undefined;
    }
    case "half":
      writeSync(1, '{"protocol":1,"result":{"compaction":{"summ');
      return process.kill(process.pid, "SIGKILL");
    case "protocol":
      return say({ protocol: 2, result: {} });
    case "status2":
      say({ error: { code: "bad-envelope", message: "no usable envelope", hint: "update otter" } });
      return process.exit(2);
    default:
      return say({ error: { code: "wet", message: "too wet", hint: "wait" } });
  }
}

if (process.argv[2] === "manifest") {
  if (fault.manifest === "crash") process.exit(70);
  if (fault.manifest === "garbage") writeSync(1, "otter!");
  else writeSync(1, JSON.stringify({ ...MANIFEST, ...(fault.manifest === "protocol" ? { protocol: 7 } : {}) }));
} else if (process.argv[2] === "hook") {
  const text = readFileSync(0, "utf8");
  const envelope = JSON.parse(text);
  if (OTTER_LOG && !envelope.dryRun) appendFileSync(OTTER_LOG, `${JSON.stringify({ pid: process.pid, ...envelope })}\n`);
  if (fault.fail && envelope.event === (fault.on ?? "session_before_compact")) fail(fault.fail);
  else if (OTTER_COMPACT === "stale" && envelope.session?.file) say({ error: { code: "session-stale", message: "the file is another one" } });
  else {
    const { resolved, ...reply } = handlers[envelope.event](envelope);
    // "resolved" in the middle: what is cut out of a recording has neighbours on both sides.
    const { progress, ...rest } = reply;
    say({ ...rest, ...(envelope.record && resolved ? { resolved } : {}), ...(progress ? { progress } : {}) });
  }
} else {
  process.exit(2);
}
