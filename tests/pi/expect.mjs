// What must hold for every compaction, whatever led to it.
import assert from "node:assert/strict";
import { assertItems, expectedItems, spansOf, stablePart } from "./checkpoint.mjs";
import { isAssistant, isCompaction } from "./harness/conversation.mjs";
import { textOf } from "./harness/server.mjs";

const KIND = "stet.verbatim";
const DETAILS_BYTES = 4096;
const isOurs = (entry) => entry.details?.kind === KIND;

/**
 * Checks every compaction of ours on the branch against Pi's own preparation, and
 * the requests that followed. Returns [{ entry, prepared, located, span }].
 *   count            how many compactions of ours there must be
 *   summariserCalls  how many calls of Pi's summariser the test itself caused
 *   continued        false: no request has followed the last compaction yet
 *   mustLoseOutput   false: by chance every output of a span may stand in the kept tail as well
 */
export async function assertCheckpoints(chat, expected) {
  const { count, summariserCalls = 0, continued = true, mustLoseOutput = true } = expected;
  assert.equal(chat.ws.llm.summariserCalls().length, summariserCalls, "calls of Pi's summariser");
  const errors = chat.events().filter((event) => ["extension_error", "not_json"].includes(event.type));
  assert.deepEqual(errors, [], "Pi must see neither an error nor a foreign line on stdout");

  const branch = await chat.branch();
  const compactions = branch.filter(isCompaction);
  const ours = compactions.filter(isOurs);
  assert.equal(ours.length, count, `compactions of ours among ${compactions.length}`);
  assert.equal(new Set(compactions.map((entry) => entry.summary)).size, compactions.length, "each summary is unique");

  const prepared = chat.preparations();
  const checked = ours.map((entry) => {
    assert.ok(prepared.has(entry.id), `Pi prepared the compaction ${entry.id}`);
    return checkOne(entry, prepared.get(entry.id), branch);
  });
  checkPrefixes(branch);
  await assertVerified(chat);
  assert.ok(
    !continued || checked.length === 0 || wasSent(checked.at(-1).entry, branch),
    "a request followed the last compaction",
  );
  for (const checkpoint of checked) {
    if (!wasSent(checkpoint.entry, branch)) continue;
    checkRequest(chat, checkpoint, checkpointsUpTo(checked, checkpoint, compactions), branch, mustLoseOutput);
  }
  return checked;
}

/** Every compaction of ours on the branch is what the raw entries say. */
export async function assertVerified(chat) {
  const { status, stdout, stderr } = await chat.verify();
  assert.equal(status, 0, `pi-stet verify: ${stdout}${stderr}`);
}

/** Whether the model was asked between this compaction and the next one. */
function wasSent(compaction, branch) {
  const later = branch.slice(branch.indexOf(compaction) + 1);
  const next = later.findIndex(isCompaction);
  return (next < 0 ? later : later.slice(0, next)).some(isAssistant);
}

function checkOne(entry, prepared, branch) {
  const where = `compaction ${entry.id}`;
  assert.equal(entry.fromHook, true, `${where} came from an extension`);
  assert.equal(entry.firstKeptEntryId, prepared.firstKeptEntryId, `${where}: firstKeptEntryId is Pi's`);
  assert.equal(entry.tokensBefore, prepared.tokensBefore, `${where}: tokensBefore is Pi's`);

  const located = locate(prepared, branch, entry);
  const span = spansOf(entry.summary).at(-1);
  assert.ok(span, `${where} has a span`);
  assert.equal(span.attributes.trigger, prepared.reason, `${where}: trigger`);
  const items = expectedItems(located);
  const texts = assertItems(span.text, items, where);
  const index = items.map(({ kind, entry: id }, i) => [kind, id, Buffer.byteLength(texts[i])]);
  checkDetails(entry, index, located, where);
  assert.match(
    entry.summary.split("\n").at(-1),
    /below.*word for word/,
    `${where}: the last line says that the verbatim tail begins`,
  );
  return { entry, prepared, located, span };
}

/** Pi's messages of the span with the entries they came from, without `!!` commands. */
function locate(prepared, branch, compaction) {
  const end = branch.findIndex((entry) => entry.id === compaction.id);
  const candidates = branch.slice(0, end);
  let from = 0;
  return [...prepared.messagesToSummarize, ...prepared.turnPrefixMessages]
    .map((message) => {
      const at = placeOf(message, candidates, from);
      assert.ok(at >= 0, `there is an entry for the ${message.role} message of ${message.timestamp}`);
      from = at + 1;
      return { message, entry: candidates[at] };
    })
    .filter(({ message }) => !message.excludeFromContext);
}

/** By time; where several messages have the same, by what they say (an edit of the context may have changed that). */
function placeOf(message, candidates, from) {
  const fits = candidates.flatMap((entry, i) => (i >= from && isSameMessage(entry, message) ? [i] : []));
  const content = JSON.stringify(message.content);
  return fits.find((i) => JSON.stringify(candidates[i].message?.content) === content) ?? fits[0] ?? -1;
}

function isSameMessage(entry, message) {
  const time = Date.parse(entry.timestamp);
  switch (message.role) {
    case "custom":
      return entry.type === "custom_message" && entry.customType === message.customType && time === message.timestamp;
    case "branchSummary":
      return entry.type === "branch_summary" && time === message.timestamp;
    default:
      return (
        entry.message?.role === message.role &&
        entry.message.timestamp === message.timestamp &&
        entry.message.toolCallId === message.toolCallId
      );
  }
}

/** `index` is what details.span must list: kind, entry and UTF-8 length of each item. */
function checkDetails({ details, summary }, index, located, where) {
  const { items, ...span } = details.span;
  assert.deepEqual(items, index, `${where}: details.span.items`);
  const size = Buffer.byteLength(JSON.stringify({ ...details, span }));
  assert.ok(size <= DETAILS_BYTES, `${where}: details without the index of items take ${size} bytes`);
  assertTextStoredOnce(details, summary, located, where);
}

function assertTextStoredOnce(details, summary, located, where) {
  const text = JSON.stringify(details);
  const lines = located.flatMap(({ message }) => proseOf(message)).flatMap((prose) => prose.split("\n"));
  for (const line of lines.filter((candidate) => candidate.length >= 40)) {
    assert.ok(summary.includes(line), `${where}: the checkpoint holds "${line.slice(0, 60)}"`);
    assert.ok(!text.includes(JSON.stringify(line).slice(1, -1)), `${where}: details repeat "${line.slice(0, 60)}"`);
  }
}

function checkPrefixes(branch) {
  let previous;
  for (const entry of branch.filter(isCompaction)) {
    if (!isOurs(entry)) {
      previous = undefined;
      continue;
    }
    if (previous) {
      const stable = stablePart(previous.summary);
      assert.ok(entry.summary.startsWith(stable), `compaction ${entry.id} begins with the bytes of ${previous.id}`);
    }
    previous = entry;
  }
}

/** The checked checkpoints whose spans the given one carries: since the last foreign compaction. */
function checkpointsUpTo(checked, checkpoint, compactions) {
  const until = compactions.indexOf(checkpoint.entry);
  const base = compactions.findLastIndex((entry, i) => i < until && !isOurs(entry));
  return checked.filter(({ entry }) => {
    const at = compactions.indexOf(entry);
    return at > base && at <= until;
  });
}

const blocksOf = (content) => (typeof content === "string" ? [{ type: "text", text: content }] : (content ?? []));
const textsOf = (content) =>
  blocksOf(content)
    .filter((block) => block.type === "text")
    .map((block) => block.text);

/** What a person or a model said in a message. */
function proseOf(message) {
  if (message.role !== "user" && message.role !== "assistant") return [];
  return textsOf(message.content).map((text) => text.toWellFormed());
}

/** What tools and thinking left in a message, line by line. */
function removedLines(message) {
  const texts = [];
  if (message.role === "toolResult") texts.push(...textsOf(message.content));
  if (message.role === "bashExecution") texts.push(message.output);
  if (message.role === "custom") texts.push(...textsOf(message.content));
  if (message.role === "assistant") {
    texts.push(...message.content.filter((block) => block.type === "thinking").map((block) => block.thinking));
  }
  return texts
    .flatMap((text) => text.split("\n"))
    .map((line) => line.trim())
    .filter((line) => line.length >= 16);
}

/** Everything a request says to the model, as text. */
export function requestText(request) {
  return request.body.messages
    .map((message) => {
      const calls = (message.tool_calls ?? []).map((call) => call.function.arguments);
      return [textOf(message.content), message.reasoning_content ?? "", ...calls].join("\n");
    })
    .join("\n");
}

/** The first request that carries the checkpoint. */
export function requestAfter(chat, entry) {
  const request = chat.ws.llm
    .requests()
    .find(({ body }) => body.messages.some((m) => textOf(m.content).includes(entry.summary)));
  assert.ok(request, `a request with the checkpoint ${entry.id} reached the model`);
  return request;
}

function checkRequest(chat, { entry }, carried, branch, mustLoseOutput) {
  const where = `the request after compaction ${entry.id}`;
  const sent = requestText(requestAfter(chat, entry));
  const spans = carried.flatMap((checkpoint) => checkpoint.located);
  const said = spans.flatMap(({ message }) => proseOf(message));
  for (const text of said) assert.ok(sent.includes(text), `${where} holds "${text.slice(0, 80)}" word for word`);

  const kept = keptText(branch, entry);
  const retained = retainedEntries(entry, branch).flatMap(({ message }) => removedLines(message));
  const allowed = [...said, ...spans.map(({ message }) => signatureText(message)), ...retained, kept].join("\n");
  const gone = spans.flatMap(({ message }) => removedLines(message)).filter((line) => !allowed.includes(line));
  for (const line of gone) assert.ok(!sent.includes(line), `${where} must not hold "${line.slice(0, 80)}"`);
  const hadOutput = spans.some(({ message }) => removedLines(message).length > 0);
  assert.ok(!mustLoseOutput || !hadOutput || gone.length > 0, `${where}: the test has outputs to look for`);
}

/** The exceptions: the reads with which the session began, and what the user labelled, by entry. */
function retainedEntries({ id, summary }, branch) {
  const afterSpans = summary.slice(spansOf(summary).at(-1).end);
  const tags = [...afterSpans.matchAll(/^<(startup-read|pinned)[-\d]* [^\n]*entry="([^"]+)"/gm)];
  return tags.map(([, tag, retained]) => {
    const entry = branch.find((other) => other.id === retained);
    assert.ok(entry?.message, `compaction ${id} retains ${retained}, which is a message`);
    if (tag === "startup-read") assert.equal(entry.message.toolName, "read", `${retained} is the result of a read`);
    return entry;
  });
}

/** What signatures may show of a message: arguments of calls, a person's command. */
function signatureText(message) {
  if (message.role === "bashExecution") return message.command;
  if (message.role !== "assistant") return "";
  const calls = message.content.filter((block) => block.type === "toolCall");
  return calls
    .map((call) => `${JSON.stringify(call.arguments)}\n${Object.values(call.arguments).join("\n")}`)
    .join("\n");
}

/** Whatever stands on the branch outside of the removed spans, as text. */
function keptText(branch, compaction) {
  const from = branch.findIndex((entry) => entry.id === compaction.firstKeptEntryId);
  const kept = from < 0 ? branch.slice(branch.indexOf(compaction)) : branch.slice(from);
  return kept
    .filter((entry) => entry.type !== "compaction")
    .map((entry) => entry.message ?? { role: "custom", content: entry.content ?? entry.summary ?? "" })
    .flatMap((message) => [...proseOf(message), ...removedLines(message), signatureText(message)])
    .join("\n");
}

/** The text stands nowhere: in no request and in no compaction. */
export async function assertNoTrace(chat, text) {
  for (const request of chat.ws.llm.requests()) {
    assert.ok(!JSON.stringify(request.body).includes(text), `request ${request.n} must not hold "${text}"`);
  }
  for (const entry of await chat.compactions()) {
    assert.ok(!JSON.stringify(entry).includes(text), `compaction ${entry.id} must not hold "${text}"`);
  }
}

/** In the new process the model gets what it had before, and then the new message. */
export function assertContinues(chat, before, after) {
  const past = before.body.messages.map((message) => JSON.stringify(message));
  const now = after.body.messages.map((message) => JSON.stringify(message));
  assert.deepEqual(now.slice(0, past.length), past, "the resumed request begins with the messages of the last one");
  assert.ok(now.length > past.length);
}

/** Opens the session in a new Pi, says something, and checks everything again. */
export async function assertResumes(chat, { args, ...expected }) {
  const before = chat.ws.llm.requests().at(-1);
  await chat.resume({ args });
  await chat.user("This is said after the restart.", ["And this is answered after the restart."]);
  assertContinues(chat, before, chat.ws.llm.requests().at(-1));
  await assertCheckpoints(chat, expected);
}
