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

const PIECE = /<(compacted-span[^\s>]*) n="([\d-]+)"([^>]*)>\n([\s\S]*?)\n?<\/\1>/g;

/** The same with what the cap made of them: `n` is a text, "1-4" for spans that share a placeholder. */
export function piecesOf(summary) {
  return [...summary.matchAll(PIECE)].map((match) => ({
    n: match[2],
    attributes: attributesOf(match[3]),
    text: match[4],
    end: match.index + match[0].length,
  }));
}

/** What a budget is for: everything between the introduction and the file lists or remarks. */
export function sectionOf(summary) {
  const from = summary.search(/\n<compacted-(base|span) /);
  const to = summary.search(/\n\n(<read-files |<modified-files |Compaction \d+ \()/);
  assert.ok(from >= 0 && to > from, "the checkpoint has a conversation");
  return summary.slice(from, to + 1);
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
 * What Pi's messages of a span must look like in it, one record per item:
 * { kind, entry, match }, `match` a text or a pattern. Half of a surrogate pair
 * cannot be stored as UTF-8 and is U+FFFD.
 */
export function expectedItems(located) {
  const labels = labelsOf(located);
  const items = [];
  for (const { message, entry } of located) {
    const ofMessage = itemsOf(message, entry);
    if (isRepetition(items.at(-1), ofMessage)) items.at(-1).calls.push(...ofMessage.shift().calls);
    items.push(...ofMessage);
  }
  return items.map(({ kind, entry, text, pattern, calls }) => ({
    kind,
    entry,
    match: text?.toWellFormed() ?? pattern ?? callsPattern(calls, labels),
  }));
}

/** A result belongs to a call when id and tool agree. */
const callKey = (id, tool) => `${id} of ${tool}`;

/** For each call that has a result in the span: its outcome label. */
function labelsOf(located) {
  const labels = new Map();
  for (const { message, entry } of located) {
    if (message.role !== "toolResult") continue;
    labels.set(callKey(message.toolCallId, message.toolName), `[${message.isError ? "error" : "ok"} ${entry.id}]`);
  }
  return labels;
}

const sameCall = (a, b) => a.name === b.name && JSON.stringify(a.arguments) === JSON.stringify(b.arguments);

/** A message of one call only, the same as the one before it, adds its outcome to that one. */
function isRepetition(last, [first]) {
  if (last?.kind !== "calls" || first?.kind !== "calls") return false;
  return [...last.calls, ...first.calls].every((call) => sameCall(call, last.calls[0]));
}

function itemsOf(message, { id }) {
  switch (message.role) {
    case "user":
      return [{ kind: "user", entry: id, ...userText(message, id) }];
    case "assistant":
      return assistantItems(message, id);
    case "bashExecution":
      return [{ kind: "bash", entry: id, text: `[User bash]: $ ${message.command} [${bashOutcome(message)} ${id}]` }];
    case "custom":
      // Our own messages are made anew for each compaction and leave no item.
      if (message.customType.startsWith("stet.")) return [];
      return [{ kind: "custom", entry: id, text: `[Custom]: ${message.customType} [content removed ${id}]` }];
    case "branchSummary":
      return [{ kind: "branch", entry: id, text: `[Branch summary]: ${message.summary}` }];
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

function userText(message, id) {
  const blocks = typeof message.content === "string" ? [{ type: "text", text: message.content }] : message.content;
  if (blocks.every((block) => block.type === "text")) {
    return { text: `[User]: ${blocks.map((block) => block.text).join("\n")}` };
  }
  const parts = blocks.map((block) =>
    block.type === "text"
      ? escaped(block.text)
      : `\\[image ${escaped(block.mimeType)}, [0-9.]+ (?:B|KB|MB), entry ${id}\\]`,
  );
  return { pattern: new RegExp(`\\[User\\]: ${parts.join("\n")}`, "y") };
}

/** Blocks keep their order; text blocks next to each other are one item, and so are calls. */
function assistantItems(message, id) {
  const items = [];
  for (const block of message.content) {
    const last = items.at(-1);
    if (block.type === "text" && block.text.trim() !== "") {
      if (last?.kind === "assistant") last.text += `\n${block.text}`;
      else items.push({ kind: "assistant", entry: id, text: `[Assistant]: ${block.text}` });
    }
    if (block.type === "toolCall") {
      if (last?.kind === "calls") last.calls.push(block);
      else items.push({ kind: "calls", entry: id, calls: [block] });
    }
  }
  if (["aborted", "error", "length"].includes(message.stopReason)) {
    items.push({ kind: "ended", entry: id, text: `[Assistant message ended: ${message.stopReason} ${id}]` });
  }
  return items;
}

/** Signatures are one line; between name and outcome anything may stand. A repeated call shows only its outcome. */
function callsPattern(calls, labels) {
  let pattern = "\\[Assistant tool calls\\]: ";
  calls.forEach((call, i) => {
    const label = escaped(labels.get(callKey(call.id, call.name)) ?? "[unknown]");
    const repeated = i > 0 && sameCall(calls[i - 1], call);
    if (repeated) pattern += ` ${label}`;
    else pattern += `${i > 0 ? "; " : ""}${escaped(call.name)}\\([^\n]*\\) ${label}`;
  });
  return new RegExp(pattern, "y");
}

/** Fails unless the span's text is exactly these items, each on a line of its own. Gives their texts. */
export function assertItems(text, items, where) {
  let at = 0;
  const texts = items.map(({ match }, i) => {
    if (i > 0) {
      assert.equal(text[at], "\n", `${where}: item ${i} must begin on a new line, here: ${excerpt(text, at)}`);
      at += 1;
    }
    const found = textAt(text, at, match);
    assert.ok(found !== undefined, `${where}: item ${i} must be ${match}\nhere: ${excerpt(text, at)}`);
    at += found.length;
    return found;
  });
  assert.equal(text.slice(at), "", `${where}: the span goes on after its last item`);
  return texts;
}

function textAt(text, at, match) {
  if (typeof match === "string") return text.startsWith(match, at) ? match : undefined;
  match.lastIndex = at;
  return match.exec(text)?.[0];
}

const excerpt = (text, at) => JSON.stringify(text.slice(at, at + 300));
