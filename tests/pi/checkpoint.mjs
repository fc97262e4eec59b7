// Reads a checkpoint's text the way a person would: its spans, and in each span
// its items. Knows the text format only, nothing of how it is made.
import assert from "node:assert/strict";

const SPAN = /<(compacted-span[^\s>]*) n="(\d+)"([^>]*)>\n([\s\S]*?)\n?<\/\1>/g;

/** The spans of a checkpoint: { n, attributes, text, end }, `end` where its closing tag ends. */
export function spansOf(summary) {
  return [...summary.matchAll(SPAN)].map((match) => ({
    n: Number(match[2]),
    attributes: attributesOf(match[3]),
    text: match[4],
    end: match.index + match[0].length,
  }));
}

function attributesOf(text) {
  return Object.fromEntries([...text.matchAll(/ ([\w-]+)="([^"]*)"/g)].map((match) => [match[1], match[2]]));
}

/** The part of a checkpoint that the next one must begin with. */
export function stablePart(summary) {
  const spans = spansOf(summary);
  assert.ok(spans.length > 0, "the checkpoint has no span");
  return summary.slice(0, spans.at(-1).end);
}

/**
 * What Pi's messages of a span must look like in it: a list of texts and patterns,
 * one per item. Half of a surrogate pair cannot be stored as UTF-8 and is U+FFFD.
 */
export function expectedItems(located) {
  const results = resultsOf(located);
  const items = located.flatMap(({ message, entry }) => itemsOf(message, entry, results));
  return items.map((item) => (typeof item === "string" ? item.toWellFormed() : item));
}

/** For each call of the span, in order of the results: its outcome label. */
function resultsOf(located) {
  const byCall = new Map();
  for (const { message, entry } of located) {
    if (message.role !== "toolResult") continue;
    byCall.set(message.toolCallId, `[${message.isError ? "error" : "ok"} ${entry.id}]`);
  }
  return byCall;
}

function itemsOf(message, entry, results) {
  switch (message.role) {
    case "user":
      return [userItem(message, entry)];
    case "assistant":
      return assistantItems(message, entry, results);
    case "bashExecution":
      return [`[User bash]: $ ${message.command} [${bashOutcome(message)} ${entry.id}]`];
    case "custom":
      return [`[Custom]: ${message.customType} [content removed ${entry.id}]`];
    case "branchSummary":
      return [`[Branch summary]: ${message.summary}`];
    case "toolResult":
      return [];
    default:
      throw new Error(`unexpected role: ${message.role}`);
  }
}

function bashOutcome({ exitCode, cancelled }) {
  if (cancelled || exitCode == null) return "unknown";
  return exitCode === 0 ? "ok" : "error";
}

const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

function userItem(message, entry) {
  const blocks = typeof message.content === "string" ? [{ type: "text", text: message.content }] : message.content;
  if (blocks.every((block) => block.type === "text")) return `[User]: ${blocks.map((block) => block.text).join("\n")}`;
  const parts = blocks.map((block) =>
    block.type === "text"
      ? escaped(block.text)
      : `\\[image ${escaped(block.mimeType)}, [0-9.]+ (?:B|KB|MB), entry ${entry.id}\\]`,
  );
  return new RegExp(`\\[User\\]: ${parts.join("\n")}`, "y");
}

function assistantItems(message, entry, results) {
  const items = [];
  let calls = [];
  const flushCalls = () => {
    if (calls.length > 0) items.push(callsItem(calls, results));
    calls = [];
  };
  for (const block of message.content) {
    if (block.type === "toolCall") calls.push(block);
    if (block.type === "text" && block.text !== "") {
      flushCalls();
      items.push(`[Assistant]: ${block.text}`);
    }
  }
  flushCalls();
  if (["aborted", "error", "length"].includes(message.stopReason)) {
    items.push(`[Assistant message ended: ${message.stopReason} ${entry.id}]`);
  }
  return items;
}

/** Signatures are one line; between name and outcome anything may stand. A repeated call shows only its outcome. */
function callsItem(calls, results) {
  let pattern = "\\[Assistant tool calls\\]: ";
  calls.forEach((call, i) => {
    const outcome = escaped(results.get(call.id) ?? "[unknown]");
    const before = calls[i - 1];
    const repeated = before && before.name === call.name && JSON.stringify(before.arguments) === JSON.stringify(call.arguments);
    if (repeated) pattern += ` ${outcome}`;
    else pattern += `${i > 0 ? "; " : ""}${escaped(call.name)}\\([^\n]*\\) ${outcome}`;
  });
  return new RegExp(pattern, "y");
}

/** Fails unless the span's text is exactly these items, each on a line of its own. */
export function assertItems(text, items, where) {
  let at = 0;
  items.forEach((item, i) => {
    if (i > 0) {
      assert.equal(text[at], "\n", `${where}: item ${i} must begin on a new line, here: ${excerpt(text, at)}`);
      at += 1;
    }
    if (typeof item === "string") {
      assert.equal(text.slice(at, at + item.length), item, `${where}: item ${i}`);
      at += item.length;
    } else {
      item.lastIndex = at;
      const match = item.exec(text);
      assert.ok(match, `${where}: item ${i} must match ${item}, here: ${excerpt(text, at)}`);
      at += match[0].length;
    }
  });
  assert.equal(text.slice(at), "", `${where}: the span goes on after its last item`);
}

const excerpt = (text, at) => JSON.stringify(text.slice(at, at + 300));
