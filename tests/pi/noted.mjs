// The checkpoint method in a chat: how a model writes its note, and what a
// compaction of this method says, read the way a person would.
import assert from "node:assert/strict";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { assertVerified, requestText } from "./expect.mjs";
import { isCompaction } from "./harness/conversation.mjs";
import { textOf } from "./harness/server.mjs";

export const KIND = "stet.checkpoint";
export const TOOL = "checkpoint_update";

/** The model's call that notes the state of its work. */
export const note = (text) => ({ name: TOOL, arguments: { text } });

/** A command of ours, as the person types it. */
export const command = (chat, text) => chat.pi.prompt(`/${text}`);

/** What stands in a section of the summary, without its tags; undefined when there is none. */
export function section(summary, name) {
  const match = new RegExp(`\\n<(${name}(?:-\\d+)?)[ >][^\\n]*\\n([\\s\\S]*?)\\n</\\1>`).exec(summary);
  return match?.[2];
}

const byId = (summary) =>
  [...summary.matchAll(/^\[USER\] by id, whole in the session: (.*)$/gm)].flatMap(([, ids]) => ids.split(", "));

/** The request is in the summary: whole, or by the id of its entry. */
export function assertHeld(summary, entry) {
  const text = textOf(entry.message.content);
  const whole = summary.includes(`[USER ${entry.id}] ${text}`);
  assert.ok(whole || byId(summary).includes(entry.id), `"${text.slice(0, 60)}" (${entry.id}) is in: ${summary}`);
}

/** Compacts, and gives the compaction, which nobody but us must have made. */
export async function compactNoted(chat) {
  const before = chat.ws.llm.requests().length;
  await chat.compact();
  assert.equal(chat.ws.llm.requests().length, before, "no model was asked");
  const compaction = (await chat.branch()).findLast(isCompaction);
  assert.equal(compaction.fromHook, true);
  assert.equal(compaction.details.kind, KIND);
  await assertVerified(chat);
  return compaction;
}

/** The text of the last request that reached the model, its prompt included. */
export const lastRequest = (chat) => chat.ws.llm.requests().at(-1);
export const lastText = (chat) => requestText(lastRequest(chat));

export const hasTool = (request) =>
  (request.body.tools ?? []).some((tool) => (tool.function?.name ?? tool.name) === TOOL);
export const hasSection = (request) =>
  request.body.messages
    .filter(({ role }) => role === "system")
    .map(({ content }) => textOf(content))
    .join("\n")
    .includes("<stet_checkpoint>");

/** The checkpoint's file of a session, or what is known of it. */
export function fileOf(chat, sessionId) {
  const path = join(chat.ws.agentDir, "checkpoints", `${sessionId}.md`);
  if (!existsSync(path)) return undefined;
  return { path, text: readFileSync(path, "utf8"), mode: statSync(path).mode & 0o777 };
}

export async function sessionId(chat) {
  return (await chat.state()).sessionId;
}

/** How often the binary was started for each event, as PI_STET_LOG tells. */
export async function runs(logFile) {
  // The log is written behind the events.
  await new Promise((resolve) => setTimeout(resolve, 100));
  const counts = {};
  if (!existsSync(logFile)) return counts;
  for (const line of readFileSync(logFile, "utf8").split("\n").filter(Boolean)) {
    const { event } = JSON.parse(line);
    counts[event] = (counts[event] ?? 0) + 1;
  }
  return counts;
}

/** Pi must have seen neither an error nor a foreign line on stdout. */
export function assertQuiet(chat) {
  const errors = chat.events().filter((event) => ["extension_error", "not_json"].includes(event.type));
  assert.deepEqual(errors, []);
}
