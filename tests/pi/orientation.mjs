// What must be true of the re-orientation in every request, and the conversations it
// is looked for in. It is found the way a model meets it: by its text, which the
// binary itself is asked for.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { BINARY, prose } from "./chat.mjs";
import { bash, isCompaction, isToolResult } from "./harness/conversation.mjs";
import { isSummariserCall, textOf } from "./harness/server.mjs";

export const TYPE = "stet.reorientation";

/** The text of the message. */
export const TEXT = askForText();

function askForText() {
  const compaction = { type: "compaction", id: "c1", parentId: null, summary: "s", details: { kind: "stet.verbatim" } };
  const envelope = {
    protocol: 1,
    event: "before_agent_start",
    session: { id: "s", cwd: "/", branch: [compaction] },
    payload: { messageType: "user" },
  };
  const { stdout } = spawnSync(BINARY, ["hook"], { input: JSON.stringify(envelope), encoding: "utf8" });
  const { message } = JSON.parse(stdout).result;
  assert.equal(message.customType, TYPE);
  assert.deepEqual(message.details, { compactionId: "c1" });
  return message.content;
}

/** The saved ones among entries. */
export const saved = (entries) => entries.filter((entry) => entry.type === "custom_message" && entry.customType === TYPE);

/** The compactions that the saved ones of the branch were for. */
export const savedFor = async (chat) => saved(await chat.branch()).map((entry) => entry.details.compactionId);

const isIt = (message) => message.role === "user" && textOf(message.content) === TEXT;

/** Where in a request's messages the text stands. */
export const placesIn = (request) => request.body.messages.flatMap((message, at) => (isIt(message) ? [at] : []));

/** The requests to the conversation's model that carry this checkpoint. */
export function requestsWith(chat, compaction) {
  return chat.ws.llm.requests().filter((request) => request.body.messages.some((m) => textOf(m.content).includes(compaction.summary)));
}

/**
 * Checks every request of the chat. In those with a checkpoint of ours the text
 * stands exactly once: last in the first one, and from then on each request begins
 * with the whole of the one before. Requests without a checkpoint do not have it.
 *   compactions  those whose requests are one conversation; default all of the branch
 *   others       how often the user says the same text
 */
export async function assertOriented(chat, { compactions, others = 0 } = {}) {
  const errors = chat.events().filter((event) => ["extension_error", "not_json"].includes(event.type));
  assert.deepEqual(errors, []);
  const ours = (compactions ?? (await chat.branch()).filter(isCompaction)).filter((entry) => entry.details?.kind?.startsWith("stet."));
  const oriented = new Set();
  for (const compaction of ours) {
    const requests = requestsWith(chat, compaction);
    for (const request of requests) oriented.add(request);
    assertOneConversation(requests, `after compaction ${compaction.id}`, others);
  }
  for (const request of chat.ws.llm.requests()) {
    if (isSummariserCall(request) || oriented.has(request)) continue;
    if (compactions === undefined) assert.deepEqual(placesIn(request).length, others, `request ${request.n} has no checkpoint of ours`);
  }
  return ours.map((compaction) => requestsWith(chat, compaction));
}

export function assertOneConversation(requests, where, others = 0) {
  requests.forEach((request, i) => {
    const { messages } = request.body;
    const here = `request ${request.n}, number ${i + 1} ${where}`;
    assert.equal(placesIn(request).length, 1 + others, `${here}: the text stands there once`);
    assertBetweenTurns(messages, here);
    if (i === 0) assert.ok(isIt(messages.at(-1)), `${here}: it is the last message`);
    else assertContinuesFrom(requests[i - 1], request, here);
  });
}

function assertBetweenTurns(messages, here) {
  messages.forEach((message, at) => {
    if (message.role !== "tool") return;
    const before = messages[at - 1];
    assert.ok(before.role === "tool" || before.tool_calls?.length > 0, `${here}: nothing stands between a call and its result`);
  });
  assert.notEqual(messages.at(-1).role, "assistant", `${here}: it does not end in an answer`);
}

/** To the byte. */
export function assertContinuesFrom(before, after, here) {
  const past = before.body.messages.map((message) => JSON.stringify(message));
  const now = after.body.messages.map((message) => JSON.stringify(message));
  assert.deepEqual(now.slice(0, past.length), past, `${here}: it begins with the whole of the request before`);
}

export const OVERFLOW = {
  status: 400,
  error: "This model's maximum context length is 20000 tokens. However, your messages resulted in 30000 tokens.",
};
/** A turn after which Pi finds the window of 200000 full. */
export const FULL = { usage: { prompt_tokens: 198_000 } };
export const OVERLOADED = { status: 503, error: "The model is overloaded." };

export const work = (chat, topic = "rain") =>
  chat.user(`Look at the files for ${topic}.`, [
    { say: `I look at ${topic}.`, calls: [bash(`sed s/medium/${topic}/ medium.txt`)] },
    `The files for ${topic} are read.`,
  ]);
export const keepThis = (chat, topic = "rain") =>
  chat.user(prose(`the kept question about ${topic}`, 800), [prose(`the kept answer about ${topic}`, 800)]);

/**
 * A run that Pi compacts after its first answer and the result of the call in it.
 *   turns   what the model answers from then on
 *   queued  { steer | follow_up: text }: what the user says while the call runs
 */
export async function runCompactedInItsMiddle(chat, turns, queued = {}) {
  await work(chat);
  await keepThis(chat);
  const started = chat.pi.waitFor("tool_execution_start");
  const run = chat.user("Look at the file.", [
    { say: prose("looking at the file", 1200), calls: [bash("sleep 0.3; cat medium.txt")], ...FULL },
    ...turns,
  ]);
  await started;
  for (const [type, message] of Object.entries(queued)) await chat.pi.send({ type, message });
  await run;
  const branch = await chat.branch();
  assert.ok(isToolResult(branch[branch.findIndex(isCompaction) - 1]), "Pi compacted after the result");
}
