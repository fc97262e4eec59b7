// That nothing is lost, whatever went wrong: what the person said is in the session
// file, the session opens again, and the model gets a request that providers accept.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { isCompaction, isUser } from "./harness/conversation.mjs";
import { isSummariserCall, textOf } from "./harness/server.mjs";

/** Everything the person has said in this chat, in its order, as Pi took it. */
export const said = (chat) =>
  chat
    .events()
    .filter((event) => event.type === "message_end" && event.message.role === "user")
    .map((event) => textOf(event.message.content));

/** Checks it, and opens the session in a new Pi and goes on there. */
export async function assertNothingLost(chat) {
  const words = said(chat);
  assert.ok(words.length > 0, "the chat knows what was said");
  const errors = chat.events().filter((event) => ["extension_error", "not_json"].includes(event.type));
  assert.deepEqual(errors, [], "Pi saw neither an error nor a foreign line on stdout");
  assertWellFormed(lastRequest(chat));
  const file = resolve(chat.ws.cwd, await chat.sessionFile());
  assert.deepEqual(userTexts(entriesOf(file)), words, "every word of the person's is in the session file, in its order");

  await chat.resume();
  const latest = (await chat.branch()).findLast(isCompaction);
  await chat.user("This is said after the restart.", ["And this is answered after the restart."]);
  assert.equal(resolve(chat.ws.cwd, await chat.sessionFile()), file);
  const request = lastRequest(chat);
  assertWellFormed(request);
  const sent = request.body.messages.map((message) => textOf(message.content)).join("\n");
  if (latest) assert.ok(sent.includes(latest.summary), "the model has the latest compaction in view");
  else for (const text of words) assert.ok(sent.includes(text), `the model has "${text.slice(0, 60)}" in view`);
}

/** The entries of a session file; on a line that was torn and written on, the one that is whole. */
function entriesOf(file) {
  const lines = readFileSync(file, "utf8").split("\n").filter((line) => line !== "");
  return lines.flatMap((line) => {
    const starts = [...line.matchAll(/\{"type":/g)].map(({ index }) => index);
    const whole = starts.map((at) => parsed(line.slice(at))).find((entry) => entry !== undefined);
    return whole === undefined ? [] : [whole];
  });
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const userTexts = (entries) => entries.filter(isUser).map((entry) => textOf(entry.message.content));

export const lastRequest = (chat) => chat.ws.llm.requests().findLast((request) => !isSummariserCall(request));

/** What every provider demands: the prompt first, a result for every call and a call for every result, not to end in an answer. */
export function assertWellFormed({ n, body: { messages } }) {
  const where = `request ${n}`;
  assert.equal(messages[0].role, "system", `${where} begins with the prompt`);
  let open = [];
  messages.slice(1).forEach((message, at) => {
    if (message.role === "tool") {
      assert.ok(open.includes(message.tool_call_id), `${where}: message ${at + 1} is a result of a call just before it`);
      open = open.filter((id) => id !== message.tool_call_id);
      return;
    }
    assert.deepEqual(open, [], `${where}: every call has its result before message ${at + 1}`);
    assert.ok(["user", "assistant"].includes(message.role), `${where}: message ${at + 1} is of role ${message.role}`);
    open = (message.tool_calls ?? []).map((call) => call.id);
  });
  assert.deepEqual(open, [], `${where}: every call has its result`);
  assert.notEqual(messages.at(-1).role, "assistant", `${where} does not end in an answer`);
}
