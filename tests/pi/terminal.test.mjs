// What only the terminal interface has: the description of /compact, and dialogs that are answered by keys.
import assert from "node:assert/strict";
import test from "node:test";
import { openChat, prose } from "./chat.mjs";
import { isCompaction, isUser } from "./harness/conversation.mjs";
import { piIs, readSession } from "./harness/harness.mjs";
import { startPiTerminal } from "./harness/terminal.mjs";

/** A session with a conversation, and with what `more` adds to it, opened in a terminal. */
async function openTerminal(t, env = {}, { more = async () => {}, ...size } = {}) {
  const chat = await openChat(t);
  await chat.user(prose("the request", 2500), [prose("the plan", 3000)]);
  await chat.user(prose("the second request", 2500), [prose("the second plan", 3000)]);
  await more(chat);
  const file = await chat.sessionFile();
  await chat.close();
  const options = { ...chat.options, args: ["--session", file], env: { ...chat.options.env, ...env }, ...size };
  const terminal = startPiTerminal(chat.ws, options);
  t.after(() => terminal.close());
  await terminal.shows("the second plan");
  const compactions = () => readSession(file).filter(isCompaction);
  return { terminal, ws: chat.ws, compactions, settings: () => readSession(file).filter(({ customType }) => customType === "stet.cap") };
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

test("/stet is a panel; what is typed closes it and goes to the editor", async (t) => {
  const label = async (chat) => {
    const { id } = (await chat.branch()).find(isUser);
    await chat.helper(`label ${id} keep: ${"a/very/long/path/".repeat(2)} 重要な出力です`);
  };
  const { terminal } = await openTerminal(t, {}, { more: label, columns: 60 });
  await submit(terminal, "/stet");
  const screen = await terminal.screenShows(/^ escape close$/m);
  // The widest text goes on below itself, not below its label.
  assert.match(screen, /^─{60}\n\n pi-stet on this branch\n\n method {4}verbatim \(from default\)$/m);
  assert.match(screen, /^ next {6}[\d,]+ tokens in context; a checkpoint of about\n {11}[\d,]+ and the recent conversation would stay$/m);
  assert.match(screen, /^ pinned {4}1 entry: [0-9a-f]{8} \(user, keep:\n {11}a\/very\/long\/path\/a\/very\/long\/path\/ 重要な出力で\n {11}す\)$/m);
  assert.match(screen, /^ escape close\n─{60}$/m);
  terminal.type("What now?");
  const after = await terminal.screenShows(/^What now\?$/m);
  assert.doesNotMatch(after, /escape close/);
  terminal.press("clear");

  await submit(terminal, "/stet");
  await terminal.screenShows(/^ escape close$/m);
  terminal.press("escape");
  await terminal.screenShows(/^─{60}\n\n─{60}$/m);
});

test("a tool and the message after a compaction take one line each, until they are expanded", async (t) => {
  const asked = { name: "context_grep", arguments: { pattern: "the request is what", in: ["user"] } };
  const more = async (chat) => {
    await chat.compact();
    await chat.user("Look for it.", [{ calls: [asked] }, "There is the second plan."]);
  };
  // Before 1.5 Pi does not say which key expands.
  const key = piIs("1.5") ? "ctrl\\+o to expand" : "";
  const told = "Told the model what is still in view";
  const found = "1 matching line of .*";
  for (const [columns, message, result] of [
    [40, key ? `Told the model wha… \\(${key}\\)` : told, `${found}… \\(2 more lines\\)`],
    [120, key ? `${told} \\(${key}\\)` : told, `${found} \\(2 more lines${key && `, ${key}`}\\)`],
  ]) {
    const { terminal } = await openTerminal(t, {}, { more, columns });
    const screen = await terminal.screenShows(/^ There is the second plan\.$/m);
    assert.match(screen, new RegExp(`^ ${message}$`, "m"));
    assert.match(screen, new RegExp(`^ grep the request is what\n ${result}$`, "m"));
    assert.doesNotMatch(screen, /ENTRY|[{}]/, "neither the matches nor JSON");
    terminal.press("expand");
    await terminal.screenShows(/^ ENTRY [0-9a-f]{8} · user/m);
  }
});

test("while a lookup runs, the line of Pi's loader says what it does", async (t) => {
  const { terminal, ws } = await openTerminal(t, {}, { more: (chat) => chat.compact() });
  ws.llm.addSteps(
    { toolCalls: [{ name: "context_lookup", arguments: { question: "What was the request?" } }] },
    { text: "The request is what was asked for first.", delayMs: 1500 },
    { text: "It was the request.", delayMs: 1500 },
  );
  await submit(terminal, "What was it?");
  terminal.press("enter");
  const loader = "[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]";
  await terminal.screenShows(new RegExp(`${loader} lookup, step 1: searching`));
  // Afterwards Pi has its own words again.
  await terminal.screenShows(new RegExp(`${loader} Working`));
  await terminal.shows("It was the request.");
});
