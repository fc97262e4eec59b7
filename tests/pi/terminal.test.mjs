// What only the terminal interface has: the description of /compact, and dialogs that are answered by keys.
import assert from "node:assert/strict";
import test from "node:test";
import { openChat, prose } from "./chat.mjs";
import { isCompaction } from "./harness/conversation.mjs";
import { readSession } from "./harness/harness.mjs";
import { startPiTerminal } from "./harness/terminal.mjs";

/** A session with a conversation, opened in the terminal. */
async function openTerminal(t, env = {}) {
  const chat = await openChat(t);
  await chat.user(prose("the request", 2500), [prose("the plan", 3000)]);
  await chat.user(prose("the second request", 2500), [prose("the second plan", 3000)]);
  const file = await chat.sessionFile();
  await chat.close();
  const options = { ...chat.options, args: ["--session", file], env: { ...chat.options.env, ...env } };
  const terminal = startPiTerminal(chat.ws, options);
  t.after(() => terminal.close());
  await terminal.shows("the second plan");
  const compactions = () => readSession(file).filter(isCompaction);
  return { terminal, compactions, settings: () => readSession(file).filter(({ customType }) => customType === "stet.cap") };
}

async function submit(terminal, text) {
  terminal.type(text);
  await terminal.shows(text);
  terminal.press("enter");
}

test("/compact says what it does on this branch", async (t) => {
  const { terminal } = await openTerminal(t);
  terminal.type("/compact");
  await terminal.shows("Compact word for word, without a model (pi-stet)");
  terminal.press("clear");
  await submit(terminal, "/compaction-method summary");
  // The first Enter takes the completion of the word.
  terminal.press("enter");
  await terminal.shows("Compaction method: summary.");
  terminal.type("/compact");
  await terminal.shows("Compact with a summary that a model writes");
});

const CHOICES = [
  "Apply the cap this time",
  "Apply the cap from now on",
  "Turn the cap off for this session",
  "Change the budget",
  "Cancel the compaction",
];

test("the dialog is dismissed with Escape", async (t) => {
  const { terminal, compactions } = await openTerminal(t, { PI_STET_MAX_SUMMARY_CHARS: "4000" });
  await submit(terminal, "/compact ");
  for (const choice of CHOICES) await terminal.shows(choice);
  terminal.press("escape");
  await terminal.shows("cancelled");
  assert.deepEqual(compactions(), []);
});

test("the dialog is answered by keys, and the notice is there when the compaction has been drawn", async (t) => {
  const { terminal, compactions, settings } = await openTerminal(t, { PI_STET_MAX_SUMMARY_CHARS: "4000" });
  await submit(terminal, "/compact ");
  await terminal.shows(`→ ${CHOICES[0]}`);
  terminal.press("down");
  await terminal.shows(`→ ${CHOICES[1]}`);
  terminal.press("enter");
  await terminal.shows("Compacted verbatim");
  assert.match(compactions()[0].summary, /trimmed="true"/);
  assert.equal(settings()[0].data.mode, "on");
});
