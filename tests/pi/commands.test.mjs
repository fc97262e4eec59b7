// /compaction-method, /cap-compaction and /stet: what they say, write and lead to.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import test from "node:test";
import { completions } from "../../pi-extension/src/commands.ts";
import { BINARY, openChat, prose } from "./chat.mjs";
import { spansOf } from "./checkpoint.mjs";
import { assertCheckpoints, assertResumes } from "./expect.mjs";
import { bash, isUser, read } from "./harness/conversation.mjs";

const METHOD = "stet.method";
const CAP = "stet.cap";
const MIXED = /carries a summary that a model wrote/;
const METHOD_USAGE = "Usage: /compaction-method [verbatim [rebuild] | checkpoint | summary]";

async function talk(chat, topic) {
  await chat.user(`What about ${topic}? Never mention umbrellas.`, [
    { say: `I look at ${topic}.`, calls: [bash(`sed s/medium/${topic}/ medium.txt`)] },
    `This is what there is about ${topic}.`,
  ]);
  await chat.user(prose(`the kept question about ${topic}`, 800), [prose(`the kept answer about ${topic}`, 800)]);
}

/** Pi's own compaction, written by its summariser. */
async function compactByModel(chat, text) {
  chat.summariserSays({ history: text });
  return chat.compact();
}

const commandOf = (name) =>
  JSON.parse(execFileSync(BINARY, ["manifest"], { encoding: "utf8" })).commands.find((command) => command.name === name);

test("Pi lists the commands, and their arguments are completed", async (t) => {
  const chat = await openChat(t);
  const { commands } = (await chat.pi.send({ type: "get_commands" })).data;
  const names = commands.filter(({ source }) => source === "extension").map(({ name }) => name);
  for (const name of ["compaction-method", "cap-compaction", "checkpoint", "stet"]) assert.ok(names.includes(name), name);

  const words = (name, typed) => completions(commandOf(name).completions, typed)?.map(({ value }) => value);
  assert.deepEqual(words("compaction-method", ""), ["verbatim", "checkpoint", "summary"]);
  assert.deepEqual(words("compaction-method", "s"), ["summary"]);
  assert.deepEqual(words("compaction-method", "verbatim r"), ["verbatim rebuild"]);
  assert.equal(words("compaction-method", "x"), undefined);
  assert.deepEqual(words("cap-compaction", ""), ["warn", "on", "off", "25%", "80000c", "20000t"]);
  assert.deepEqual(words("cap-compaction", "on 8"), ["on 80000c"]);
});

test("/compaction-method: exact words only; a question and a mistake write nothing", async (t) => {
  const chat = await openChat(t);
  await talk(chat, "rain");
  const before = (await chat.tree()).entries.length;
  assert.equal(await chat.command("/compaction-method"), "Compaction method: verbatim (from default).");
  assert.equal(await chat.command("/compaction-method verbatim"), "Compaction method: verbatim (unchanged).");
  for (const words of ["verb", "Summary", "default", "summary now", "rebuild", "verbatim rebuild now", "summary rebuild", "checkpoint rebuild"]) {
    assert.equal(await chat.command(`/compaction-method ${words}`), METHOD_USAGE, words);
  }
  assert.match(await chat.command("/compaction-method verbatim rebuild"), /nothing to rebuild/);
  assert.equal((await chat.tree()).entries.length, before);
});

test("/compaction-method summary: Pi's summariser gets what Pi prepared, and we stay out", async (t) => {
  const chat = await openChat(t);
  await talk(chat, "rain");
  const said = await chat.command("/compaction-method summary");
  assert.match(said, /Compaction method: summary/);
  assert.match(said, /a model summarises this branch/);
  assert.match(await chat.command("/stet"), /^next {8}a model would write a summary$/m);
  const before = chat.notices().length;
  await compactByModel(chat, "## Goal\nIt was about rain.");
  assert.deepEqual(chat.notices().slice(before), [], "we say nothing about a compaction that is not ours");
  await chat.user("What now?", ["Now we go on."]);

  const [entry] = await chat.compactions();
  assert.match(entry.summary, /^## Goal\nIt was about rain\./);
  assert.notEqual(entry.fromHook, true);
  const [asked] = chat.ws.llm.summariserCalls();
  const text = JSON.stringify(asked.body);
  for (const words of ["Never mention umbrellas", "I look at rain", "rain output, line 1 of 60"]) {
    assert.ok(text.includes(words), `the summariser was given "${words}"`);
  }
  await assertCheckpoints(chat, { count: 0, summariserCalls: 1 });
});

test("back to verbatim after a summary: the context is mixed, and says so where it matters", async (t) => {
  const chat = await openChat(t);
  await talk(chat, "rain");
  await chat.command("/compaction-method summary");
  assert.doesNotMatch(await chat.command("/compaction-method verbatim"), MIXED, "no summary was written yet");
  await chat.command("/compaction-method summary");
  await compactByModel(chat, "## Goal\nIt was about rain.");
  assert.match(await chat.command("/compaction-method verbatim"), MIXED);
  assert.doesNotMatch(await chat.command("/compaction-method"), MIXED, "a question is no warning");
  assert.match(await chat.command("/stet"), /^mixed .*verbatim rebuild replaces it$/m);
  await talk(chat, "snow");
  await chat.compact();
  await chat.user("What now?", ["Now we go on."]);
  const [{ entry }] = await assertCheckpoints(chat, { count: 1, summariserCalls: 1 });
  assert.equal(entry.summary.split('<compacted-base kind="model-summary"').length, 3, "in the introduction and once more");
  assert.ok(entry.summary.indexOf("It was about rain.") < entry.summary.indexOf("What about snow?"));

  const before = chat.notices().length;
  await chat.resume();
  await chat.user("Still here?", ["Yes."]);
  assert.match(chat.notices().slice(before).join("\n"), MIXED, "and again when the session is opened");
});

test("verbatim rebuild: the next checkpoint has the words again in place of the summary", async (t) => {
  const chat = await openChat(t);
  await talk(chat, "rain");
  await chat.compact();
  await chat.command("/compaction-method summary");
  await talk(chat, "snow");
  await compactByModel(chat, "## Goal\nRain, then snow.");
  await chat.command("/compaction-method verbatim");
  await talk(chat, "hail");
  await chat.compact();
  const mixed = (await chat.compactions()).at(-1);
  assert.deepEqual(spansOf(mixed.summary).map(({ n }) => n), [1], "the spans before the summary are part of it");
  assert.ok(!mixed.summary.includes("What about rain?"));

  assert.match(await chat.command("/compaction-method verbatim rebuild"), /At the next compaction.*word for word/);
  const pending = /^mixed .*until the next compaction, which replaces it/m;
  assert.match(await chat.command("/stet"), pending);
  const entries = (await chat.tree()).entries.length;
  assert.match(await chat.command("/compaction-method verbatim rebuild"), /At the next compaction/);
  assert.equal((await chat.tree()).entries.length, entries, "asked once is enough");
  const before = chat.notices().length;
  await chat.resume();
  assert.match(await chat.command("/stet"), pending);
  assert.match(chat.notices().slice(before).join("\n"), MIXED, "until then the context is mixed");

  await talk(chat, "fog");
  await chat.compact();
  assert.doesNotMatch(await chat.command("/stet"), /^mixed/m);
  await chat.user("What now?", ["Now we go on."]);
  const { summary } = (await chat.compactions()).at(-1);
  assert.ok(!summary.includes("Rain, then snow."), "the summary is gone");
  const spans = spansOf(summary);
  assert.deepEqual(spans.map(({ n }) => n), [1, 2, 3, 4], "one span for each compaction of the branch");
  for (const [at, topic] of ["rain", "snow", "hail", "fog"].entries()) {
    assert.ok(spans[at].text.startsWith("[User]: ") && spans[at].text.includes(`What about ${topic}? Never mention umbrellas.`), topic);
  }
  assert.ok(spans[1].text.includes(prose("the kept answer about rain", 800)), "what the first compaction kept is in the second span");

  // The next one begins with it, and the words stay.
  await talk(chat, "dew");
  await chat.compact();
  await chat.user("And now?", ["On and on."]);
  const next = (await chat.compactions()).at(-1).summary;
  assert.ok(next.startsWith(summary.slice(0, spans.at(-1).end)));
  assert.deepEqual(spansOf(next).map(({ n }) => n), [1, 2, 3, 4, 5]);
});

test("verbatim rebuild switches the method as well", async (t) => {
  const chat = await openChat(t);
  await talk(chat, "rain");
  await chat.command("/compaction-method summary");
  assert.match(await chat.command("/compaction-method verbatim rebuild"), /nothing to rebuild[^]*Compaction method: verbatim/);
  await chat.command("/compaction-method summary");
  await compactByModel(chat, "## Goal\nIt was about rain.");
  await chat.command("/compaction-method verbatim rebuild");
  assert.match(await chat.command("/compaction-method"), /verbatim \(from this branch\)/);
  await talk(chat, "snow");
  await chat.compact();
  await chat.user("What now?", ["Now we go on."]);
  const { summary } = (await chat.compactions()).at(-1);
  assert.deepEqual(spansOf(summary).map(({ n }) => n), [1, 2]);
  assert.ok(!summary.includes("It was about rain."));
});

test("the method survives reopening, reloading and forking, and follows the branch", async (t) => {
  const chat = await openChat(t);
  await talk(chat, "rain");
  const before = await chat.leaf();
  await chat.command("/compaction-method summary");
  const is = async (method) => assert.match(await chat.command("/compaction-method"), new RegExp(`: ${method} `));
  await is("summary");
  await chat.helper("reload");
  await is("summary");
  await chat.resume();
  await is("summary");
  await chat.helper(`tree ${before}`);
  await is("verbatim");
  await chat.command("/compaction-method summary");
  await chat.user("The fork begins here.", ["Yes."]);
  await chat.pi.send({ type: "fork", entryId: (await chat.newest(isUser)).id });
  await is("summary");
  await chat.pi.send({ type: "new_session" });
  await is("verbatim");
});

test("a setting that cannot be read is passed over, and no setting reaches the model", async (t) => {
  const chat = await openChat(t);
  await chat.user("Hello.", ["Hello!"]);
  await chat.command("/cap-compaction on 9000c");
  await chat.helper(`entry ${CAP} what-the-helper-writes-is-no-cap`);
  await chat.helper(`entry ${METHOD} nor-is-it-a-method`);
  assert.match(await chat.command("/cap-compaction"), /on 9000c \(from this branch\)/);
  assert.match(await chat.command("/compaction-method"), /verbatim \(from default\)/);
  await chat.user("And on.", ["On."]);
  const sent = JSON.stringify(chat.ws.llm.requests().at(-1).body.messages);
  for (const words of ["9000", "helper writes", "stet.cap"]) assert.ok(!sent.includes(words), words);
});

test("/cap-compaction: mode and budget in any of their forms; what is wrong or nothing new writes nothing", async (t) => {
  const chat = await openChat(t);
  await chat.user("Hello.", ["Hello!"]);
  assert.equal(await chat.command("/cap-compaction"), "Cap: warn 25% (from default).");
  const wrong = [
    "0c", "-1t", "1.5t", "0%", "101%", "Infinity%", "NaNc", "25", "9007199254740992c", "9007199254740991t",
    "maybe", "on maybe", "25% on", "on 25% now",
  ];
  for (const words of wrong) assert.match(await chat.command(`/cap-compaction ${words}`), /^Usage: \/cap-compaction/, words);
  assert.match(await chat.command("/cap-compaction warn"), /unchanged/);
  assert.match(await chat.command("/cap-compaction warn 25%"), /unchanged/);
  assert.deepEqual(await chat.settings(CAP), []);
  assert.equal(await chat.command("/cap-compaction 12.5%"), "Cap: warn 12.5%.");
  assert.equal(await chat.command("/cap-compaction on"), "Cap: on 12.5%.");
  assert.equal(await chat.command("/cap-compaction   off   20000t  "), "Cap: off 20000t.");
  assert.deepEqual(await chat.settings(CAP), [
    { mode: "warn", budget: { unit: "percent", value: 12.5 } },
    { mode: "on", budget: { unit: "percent", value: 12.5 } },
    { mode: "off", budget: { unit: "tokens", value: 20_000 } },
  ]);
});

test("a variable that cannot be read is named once, when the session starts", async (t) => {
  const env = { PI_STET_MAX_SUMMARY_PERCENT: "25%", PI_STET_ASK_SECONDS: "soon", MECH_COMPACT_MAX_SUMMARY_CHARS: "9000" };
  const chat = await openChat(t, { env });
  await chat.user("Hello.", ["Hello!"]);
  const notices = chat.notices("warning");
  assert.equal(notices.length, 2, JSON.stringify(notices));
  assert.match(notices.join("\n"), /PI_STET_MAX_SUMMARY_PERCENT is "25%", not/);
  assert.match(notices.join("\n"), /PI_STET_ASK_SECONDS is "soon", not/);
  assert.equal(await chat.command("/cap-compaction"), "Cap: warn 9000c (from environment).");
});

test("/stet: settings, the last compaction, the next one, what is kept", async (t) => {
  const chat = await openChat(t, { files: { "AGENTS.md": "Read notes.md first.\n", "notes.md": "Note 1: no umbrellas.\n" } });
  const first = await chat.command("/stet");
  assert.match(first, /^method {6}verbatim \(from default\)$/m);
  assert.match(first, /^cap {9}warn 25% \(from default\)$/m);
  assert.match(first, /^last {8}this branch was not compacted yet$/m);
  assert.match(first, /^next {8}nothing to compact/m);
  assert.match(first, /^pinned {6}no entries$/m);
  await chat.user("Begin.", [{ calls: [read("notes.md")] }, "I have read the notes."]);
  assert.match(await chat.command("/stet"), /^retained {4}1 startup read: notes\.md \([0-9a-f]{8}\), more may come/m);
  await talk(chat, "rain");
  const pinned = await chat.newest((entry) => entry.message?.toolName === "bash");
  await chat.helper(`label ${pinned.id} keep: the numbers`);
  const before = await chat.command("/stet");
  assert.match(before, /^next {8}[\d,]+ tokens in context; a checkpoint of about [\d,]+ and the recent conversation would stay$/m);
  assert.match(before, new RegExp(`^pinned {6}1 entry: ${pinned.id} \\(output of bash, keep: the numbers\\)$`, "m"));

  const result = await chat.compact();
  const after = await chat.command("/stet");
  const number = Number(result.tokensBefore).toLocaleString("en-US");
  assert.match(after, new RegExp(`^last {8}compaction 1, stet\\.verbatim, [\\dT:.Z-]+: ${number} → about [\\d,]+ tokens$`, "m"));
  assert.match(after, /^next {8}nothing to compact/m);
  assert.match(after, new RegExp(`^pinned {6}1 entry: ${pinned.id} `, "m"), "what is kept is told also when there is nothing to compact");
  assert.match(after, /^retained {4}1 startup read: notes\.md \([0-9a-f]{8}\)$/m);
  await chat.user("What now?", ["Now we go on."]);
  await assertCheckpoints(chat, { count: 1, mustLoseOutput: false });
  await assertResumes(chat, { count: 1, mustLoseOutput: false });
});
