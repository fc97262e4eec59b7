// The size guard's dialog: what a person is asked, and what each answer leads to.
import assert from "node:assert/strict";
import test from "node:test";
import { Dialogs, ESCAPE, openChat, prose, SILENCE } from "./chat.mjs";
import { piecesOf, sectionOf } from "./checkpoint.mjs";
import { bash, isCompaction, isUser } from "./harness/conversation.mjs";
import { readSession, runPiPrint } from "./harness/harness.mjs";

const APPLY = "Apply the cap this time";
const ALWAYS = "Apply the cap from now on";
const DISABLE = "Turn the cap off for this session";
const CHANGE = "Change the budget";
const CANCEL = "Cancel the compaction";

const CAP = "stet.cap";
/** The mode is `warn` unless a person chose another one. */
const BUDGET_8000 = { PI_STET_MAX_SUMMARY_CHARS: "8000" };

/** A chat whose next compaction is over a budget of 8,000 characters. */
async function openLongChat(t, dialogs, options = {}) {
  const chat = await openChat(t, { onDialog: dialogs.onDialog, env: BUDGET_8000, ...options });
  await talk(chat, "rain");
  await talk(chat, "snow");
  return chat;
}

/** About 7,000 characters, and a bit that is kept. */
async function talk(chat, topic) {
  await chat.user(prose(`the request about ${topic}`, 2500), [
    { say: prose(`the plan for ${topic}`, 3000), calls: [bash("cat small.txt")] },
    prose(`the result for ${topic}`, 1500),
  ]);
  await chat.user(prose(`the kept question about ${topic}`, 800), [prose(`the kept answer about ${topic}`, 800)]);
}

/** The newest checkpoint is trimmed to the budget, and its details still hold every text of its span. */
async function assertTrimmed(chat, budget) {
  const entry = (await chat.compactions()).at(-1);
  const section = sectionOf(entry.summary);
  assert.ok(section.length <= budget, `the section of ${section.length} characters fits ${budget}`);
  const trimmed = piecesOf(entry.summary).filter((piece) => piece.attributes.trimmed === "true");
  assert.ok(trimmed.length > 0, "what was trimmed is marked");
  for (const piece of trimmed) assert.match(piece.text, /^\(Trimmed to fit the size cap: .*in the session, entr/);
  return entry;
}

async function assertWhole(chat) {
  const entry = (await chat.compactions()).at(-1);
  assert.ok(!entry.summary.includes('trimmed="true"'), "nothing was trimmed");
  for (const text of [prose("the request about rain", 2500), prose("the plan for rain", 3000)]) {
    assert.ok(entry.summary.includes(text), `"${text.slice(0, 30)}" is whole`);
  }
  return entry;
}

async function assertCancelled(chat) {
  const before = (await chat.tree()).entries;
  await assert.rejects(chat.compact(), /cancelled/i);
  assert.deepEqual((await chat.tree()).entries, before, "nothing was written");
}

test("the dialog offers five choices and says what the budget is", async (t) => {
  const dialogs = new Dialogs(APPLY);
  const chat = await openLongChat(t, dialogs);
  await chat.compact();
  const [dialog, ...others] = dialogs.shown;
  assert.deepEqual(others, []);
  assert.equal(dialog.method, "select");
  assert.deepEqual(dialog.options, [APPLY, ALWAYS, DISABLE, CHANGE, CANCEL]);
  assert.match(dialog.title, /8000c/);
  assert.doesNotMatch(dialog.title, /overflow/);
  assert.equal(dialog.timeout, 60_000);
});

test("apply: trimmed this time, asked again the next time", async (t) => {
  const dialogs = new Dialogs(APPLY, APPLY);
  const chat = await openLongChat(t, dialogs);
  await chat.compact();
  const first = await assertTrimmed(chat, 8000);
  assert.ok(first.summary.includes(prose("the request about snow", 2500)), "what the user said is whole");
  assert.ok(!first.summary.includes(prose("the plan for rain", 3000)), "the oldest prose had to go");
  const stored = first.details.span.items.map(([, , , text]) => text).join("\n");
  assert.ok(stored.includes(prose("the plan for rain", 3000)), "the stored span is whole all the same");

  await talk(chat, "hail");
  await chat.compact();
  await assertTrimmed(chat, 8000);
  assert.equal(dialogs.shown.length, 2);
  assert.deepEqual(await chat.settings(CAP), [], "nothing was decided for later");
});

test("apply from now on: trimmed, and never asked again", async (t) => {
  const dialogs = new Dialogs(ALWAYS);
  const chat = await openLongChat(t, dialogs);
  await chat.compact();
  await assertTrimmed(chat, 8000);
  assert.deepEqual(await chat.settings(CAP), [{ mode: "on", budget: { unit: "chars", value: 8000 } }]);

  await chat.resume();
  await talk(chat, "hail");
  await chat.compact();
  await assertTrimmed(chat, 8000);
  assert.equal(dialogs.shown.length, 1);
});

test("turn it off: whole, now and later; what was trimmed before comes back", async (t) => {
  const dialogs = new Dialogs(APPLY, DISABLE);
  const chat = await openLongChat(t, dialogs);
  await chat.compact();
  const trimmed = await assertTrimmed(chat, 8000);
  await talk(chat, "hail");
  await chat.compact();
  await assertWhole(chat);
  assert.equal((await chat.settings(CAP)).at(-1).mode, "off");
  const stored = (await chat.branch()).find((entry) => entry.id === trimmed.id);
  assert.deepEqual(stored, trimmed, "the earlier compaction is as it was saved");

  await talk(chat, "fog");
  await chat.compact();
  await assertWhole(chat);
  assert.equal(dialogs.shown.length, 2);
});

test("change the budget: what is no budget is asked again, a larger one needs no trimming", async (t) => {
  const dialogs = new Dialogs(CHANGE, "12 apples", "0c", "90000c");
  const chat = await openLongChat(t, dialogs);
  await chat.compact();
  await assertWhole(chat);
  assert.deepEqual(
    dialogs.shown.map(({ method }) => method),
    ["select", "input", "input", "input"],
  );
  for (const input of dialogs.shown.slice(1)) assert.match(input.title, /Now 8000c/);
  const errors = chat.notices("error");
  assert.equal(errors.length, 2, JSON.stringify(errors));
  assert.match(errors[0], /12 apples/);
  assert.deepEqual(await chat.settings(CAP), [{ mode: "warn", budget: { unit: "chars", value: 90_000 } }]);
});

test("change the budget: a smaller one is asked about again", async (t) => {
  const dialogs = new Dialogs(CHANGE, "4000c", APPLY);
  const chat = await openLongChat(t, dialogs);
  await chat.compact();
  await assertTrimmed(chat, 4000);
  assert.deepEqual(
    dialogs.shown.map(({ method }) => method),
    ["select", "input", "select"],
  );
  assert.match(dialogs.shown[2].title, /4000c/);
  assert.deepEqual(await chat.settings(CAP), [{ mode: "warn", budget: { unit: "chars", value: 4000 } }]);
});

for (const [name, answers] of [
  ["cancel", [CANCEL]],
  ["Escape", [ESCAPE]],
  ["Escape in the input", [CHANGE, ESCAPE]],
]) {
  test(`${name}: no compaction, nothing is written`, async (t) => {
    const dialogs = new Dialogs(...answers);
    const chat = await openLongChat(t, dialogs);
    await assertCancelled(chat);
    assert.equal(dialogs.shown.length, answers.length);
    assert.equal(chat.ws.llm.summariserCalls().length, 0, "and no model is asked instead");
  });
}

for (const [name, answers] of [
  ["nobody answers", [SILENCE]],
  ["nobody answers in the input", [CHANGE, SILENCE]],
]) {
  test(`${name}: the cap is applied, and that is said`, async (t) => {
    const dialogs = new Dialogs(...answers);
    const chat = await openLongChat(t, dialogs, { env: { ...BUDGET_8000, PI_STET_ASK_SECONDS: "1" } });
    await chat.compact();
    await assertTrimmed(chat, 8000);
    assert.equal(dialogs.shown.length, answers.length);
    assert.match(chat.notices("warning").join("\n"), /Nobody answered within 1 s.*8000c/);
    assert.deepEqual(await chat.settings(CAP), []);
  });
}

for (const [name, answers] of [
  ["the choice", [SILENCE]],
  ["the input", [CHANGE, SILENCE]],
]) {
  test(`an abort during ${name}: no compaction, nothing is written`, async (t) => {
    const dialogs = new Dialogs(...answers);
    const chat = await openLongChat(t, dialogs);
    const before = (await chat.tree()).entries;
    const method = answers.length === 1 ? "select" : "input";
    const open = chat.pi.waitFor((event) => event.type === "extension_ui_request" && event.method === method);
    const ended = assert.rejects(chat.compact(), /cancelled|aborted/i);
    await open;
    await chat.pi.send({ type: "abort" });
    await ended;
    assert.deepEqual((await chat.tree()).entries, before);
    assert.equal(chat.ws.llm.summariserCalls().length, 0);
    // The session is alive: the next answer works.
    dialogs.answers = [APPLY];
    await chat.compact();
    await assertTrimmed(chat, 8000);
  });
}

test("an automatic compaction asks as well, and overflow names the risk", async (t) => {
  const dialogs = new Dialogs(APPLY);
  const chat = await openLongChat(t, dialogs, { window: 20_000 });
  await chat.user("The request that is too long.", [
    {
      status: 400,
      error: "This model's maximum context length is 20000 tokens. However, your messages resulted in 30000 tokens.",
    },
    "Now it fitted.",
  ]);
  await assertTrimmed(chat, 8000);
  assert.equal(dialogs.shown.length, 1);
  assert.match(dialogs.shown[0].title, /overflowed.*cannot go on/);
});

test("a budget of tokens counts four characters each, and a share of the window follows the window", async (t) => {
  const dialogs = new Dialogs();
  const chat = await openLongChat(t, dialogs, { window: 20_000 });
  // 10 % of 20,000 tokens are 8,000 characters.
  await chat.command("/cap-compaction on 10%");
  await chat.compact();
  const byShare = await assertTrimmed(chat, 8000);
  await chat.helper(`tree ${byShare.parentId}`);
  await chat.command("/cap-compaction on 2000t");
  await chat.compact();
  const byTokens = await assertTrimmed(chat, 8000);
  await chat.command("/cap-compaction on 8000c");
  await chat.helper(`tree ${byShare.parentId}`);
  await chat.command("/cap-compaction on 8000c");
  await chat.compact();
  const byCharacters = await assertTrimmed(chat, 8000);
  assert.equal(sectionBody(byShare), sectionBody(byCharacters));
  assert.equal(sectionBody(byTokens), sectionBody(byCharacters));
  assert.equal(dialogs.shown.length, 0, "`on` asks nobody");

  await talk(chat, "hail");
  await chat.helper("window 1000000");
  await chat.command("/cap-compaction on 10%");
  await chat.compact();
  await assertWhole(chat);
});

/** Without the time of the compaction. */
const sectionBody = (entry) => sectionOf(entry.summary).replaceAll(/compacted-at="[^"]*"/g, "");

test("a share of a window that is not known: cancelled with the reason, never guessed", async (t) => {
  const dialogs = new Dialogs();
  const chat = await openLongChat(t, dialogs, { env: {} });
  await chat.helper("window 0");
  await assertCancelled(chat);
  assert.match(chat.notices("error").join("\n"), /25%.*context window is not known.*80000c/);
  assert.match(await chat.command("/stet"), /would be cancelled: the cap is 25%/);
  assert.equal(chat.ws.llm.summariserCalls().length, 0);
  await chat.command("/cap-compaction off");
  await chat.compact();
  await assertWhole(chat);
  assert.equal(dialogs.shown.length, 0);
});

test("print mode: nobody can be asked, so the cap is applied with a warning", async (t) => {
  const chat = await openLongChat(t, new Dialogs(), { window: 16_000, autoCompaction: false });
  await chat.user("Now the huge file.", [{ calls: [bash("cat huge.txt")] }, "The huge file has 1200 lines."]);
  await chat.user(prose("the last request", 1500), [prose("the last answer", 1500)]);
  await chat.pi.send({ type: "set_auto_compaction", enabled: true });
  const file = await chat.sessionFile();
  await chat.close();
  chat.ws.llm.addSteps({ text: "Printed answer." });
  const { extensions, env } = chat.options;
  const run = await runPiPrint(chat.ws, "Go on.", { extensions, env, args: ["--session", file] });
  assert.equal(run.code, 0, run.stderr);
  assert.match(run.stderr, /trimmed to 8000c/);
  const [entry] = readSession(file).filter(isCompaction);
  assert.ok(sectionOf(entry.summary).length <= 8000);
  assert.match(entry.summary, /trimmed="true"/);
});

test("the cap chosen for a session survives reopening, reloading and forking, and follows the branch", async (t) => {
  const dialogs = new Dialogs();
  const chat = await openLongChat(t, dialogs);
  const before = await chat.leaf();
  assert.match(await chat.command("/cap-compaction"), /warn 8000c \(from environment\)/);
  assert.match(await chat.command("/cap-compaction on 6000c"), /on 6000c/);
  const expected = /on 6000c \(from this branch\)/;
  assert.match(await chat.command("/cap-compaction"), expected);
  await chat.helper("reload");
  assert.match(await chat.command("/cap-compaction"), expected);
  await chat.resume();
  assert.match(await chat.command("/cap-compaction"), expected);
  await chat.helper(`tree ${before}`);
  assert.match(await chat.command("/cap-compaction"), /warn 8000c \(from environment\)/, "before it was chosen");
  await chat.command("/cap-compaction off");
  await chat.user(prose("the request of the fork", 300), ["Yes."]);
  const left = await chat.newest(isUser);
  await chat.pi.send({ type: "fork", entryId: left.id });
  assert.match(await chat.command("/cap-compaction"), /off 8000c \(from this branch\)/);
  await chat.compact();
  await assertWhole(chat);
  assert.equal(dialogs.shown.length, 0);
  await chat.pi.send({ type: "new_session" });
  assert.match(await chat.command("/cap-compaction"), /warn 8000c \(from environment\)/, "a new session begins anew");
});

test("howaboua_pi_stuff_308: a message larger than the cap is cut to its beginning and found by its entry", async (t) => {
  const chat = await openChat(t, { window: 400_000, keep: 300 });
  const huge = `Here is the whole log.\n${prose("the log of the night", 1_300_000)}\nThe cause stands in the last line: code 4711.`;
  await chat.user(huge, ["A long log."]);
  const message = await chat.newest(isUser);
  await chat.user(prose("the kept question", 800), [prose("the kept answer", 800)]);
  await chat.command("/cap-compaction on 25%");
  const result = await chat.compact();
  const entry = await assertTrimmed(chat, 400_000);
  assert.ok(entry.summary.length < 8000, `the checkpoint has ${entry.summary.length} characters`);
  const [piece] = piecesOf(entry.summary);
  assert.match(piece.text, new RegExp(`^\\[User\\]: Here is the whole log\\.[^]*… \\[1,299,9\\d\\d more characters, entry ${message.id}\\]$`, "m"));
  assert.ok(result.estimatedTokensAfter < 20_000);
  await chat.user("What now?", ["Now we go on."]);
  assert.equal((await chat.compactions()).length, 1, "no second compaction follows");
});

test("twenty compactions under a cap stay within it", async (t) => {
  const chat = await openChat(t);
  await chat.command("/cap-compaction on 3000c");
  for (let round = 1; round <= 20; round += 1) {
    await chat.user(prose(`wish ${round}`, 400), [
      { say: prose(`step ${round}`, 300), calls: [bash("cat small.txt")] },
      prose(`reply ${round}`, 1300),
    ]);
    await chat.compact();
    const { summary } = (await chat.compactions()).at(-1);
    assert.ok(sectionOf(summary).length <= 3000, `round ${round}`);
  }
  const entry = await assertTrimmed(chat, 3000);
  const pieces = piecesOf(entry.summary);
  assert.match(pieces[0].n, /^1-\d+$/, "the spans without a line share one placeholder");
  assert.equal(pieces.at(-1).n, "20");
});
