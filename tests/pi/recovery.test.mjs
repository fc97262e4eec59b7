// The recovery tools and the skill in real Pi, after compactions.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { pathToFileURL } from "node:url";
import { BINARY, openChat, prose } from "./chat.mjs";
import { bash, isToolResult } from "./harness/conversation.mjs";
import { PI_ROOT, REPO_DIR } from "./harness/harness.mjs";
import { textOf } from "./harness/server.mjs";

const grep = (args) => ({ name: "context_grep", arguments: args });
const show = (...ids) => ({ name: "context_show_entry", arguments: { ids } });
const list = (args = {}) => ({ name: "context_list_entries", arguments: args });

const work = (chat, topic) =>
  chat.user(`Look at the files for ${topic}.`, [
    { think: `Thinking about ${topic} and a purple elephant.`, say: `I look at ${topic}.`, calls: [bash("cat medium.txt")] },
    { calls: [bash("sh fail.sh")] },
    `The files for ${topic} are read.`,
  ]);
const keepThis = (chat, topic) => chat.user(prose(`the kept question about ${topic}`, 800), [prose(`the kept answer about ${topic}`, 800)]);

/** The person asks, the model calls these tools in one message and answers. Gives the results' entries. */
async function ask(chat, ...calls) {
  const before = (await chat.branch()).length;
  await chat.user("Please look that up.", [{ calls }, "I looked it up."]);
  return (await chat.branch()).slice(before).filter(isToolResult);
}

const text = (entry) => textOf(entry.message.content);

/** Every tool that the model is offered, by name. */
const offered = (chat) => chat.ws.llm.requests().at(-1).body.tools.map((tool) => tool.function.name);

test("the id in a label brings the output back with one call", async (t) => {
  const chat = await openChat(t);
  await work(chat, "rain");
  await keepThis(chat, "rain");
  await chat.compact();
  await chat.user("What now?", ["Now we go on."]);
  for (const name of ["context_list_entries", "context_grep", "context_show_entry", "context_lookup"]) {
    assert.ok(offered(chat).includes(name), `${name} is offered`);
  }
  const [{ summary }] = await chat.compactions();
  const failed = /\[error ([0-9a-f]{8})\]/.exec(summary)[1];
  const worked = /\[ok ([0-9a-f]{8})\]/.exec(summary)[1];
  assert.ok(!summary.includes("medium output, line 33 of 60"), "the output is not in the checkpoint");

  const [one] = await ask(chat, show(failed, worked));
  assert.equal(one.message.isError, false);
  assert.ok(text(one).includes("failing output, line 2 of 2: 4712"));
  assert.ok(text(one).includes("medium output, line 33 of 60"));
  assert.match(text(one), new RegExp(`^ENTRY ${failed} · tool result of bash, error · `, "m"));
  // The model got what stands in the session.
  const sent = chat.ws.llm.requests().at(-1).body.messages.at(-1);
  assert.equal(textOf(sent.content), text(one));
});

test("the model is offered the tools in the manifest's words", async (t) => {
  const manifest = JSON.parse(execFileSync(BINARY, ["manifest"], { encoding: "utf8" }));
  const chat = await openChat(t);
  await chat.user("Hello.", ["Hello!"]);
  const { messages, tools } = chat.ws.llm.requests().at(-1).body;
  for (const { name, description, parameters, promptSnippet } of manifest.tools.filter((tool) => tool.active)) {
    const offer = tools.find((tool) => tool.function.name === name).function;
    assert.equal(offer.description, description);
    assert.deepEqual(Object.keys(offer.parameters.properties), Object.keys(parameters.properties));
    assert.ok(textOf(messages[0].content).includes(promptSnippet), `the prompt has the snippet of ${name}`);
  }
  assert.ok(!tools.some((tool) => tool.function.name === "checkpoint_update"), "what is off is not offered");
});

test("thinking, arguments and outputs of two compactions are found; summaries and earlier searches are left out", async (t) => {
  const chat = await openChat(t);
  for (const topic of ["rain", "snow"]) {
    await work(chat, topic);
    await keepThis(chat, topic);
    await chat.compact();
  }
  const [found, ranked, listed] = await ask(chat, grep({ pattern: "purple elephant" }), grep({ terms: "snow elephant" }), list());
  assert.match(text(found), /^2 matching lines of "purple elephant" in 2 entries/);
  assert.match(text(ranked).split("\n")[1], /\[thinking\] \d+: Thinking about snow and a purple elephant\./);
  const branch = await chat.branch();
  assert.match(text(listed), /entries, oldest first:/);
  assert.ok(text(listed).includes(branch[0].id));

  const [again] = await ask(chat, grep({ pattern: "purple elephant" }));
  assert.match(text(again), /^2 matching lines .*Left out: \d+ matching lines? in earlier recovery calls/s);
});

test("bad arguments and unknown ids are errors that say what would be right", async (t) => {
  const chat = await openChat(t);
  await work(chat, "rain");
  const [both, unknown, badPage] = await ask(
    chat,
    grep({ pattern: "a", terms: "b" }),
    show("00000000"),
    grep({ pattern: "a", throughEntry: "nobody" }),
  );
  for (const [entry, told] of [[both, /not both/], [unknown, /^No entry 00000000 on this branch/], [badPage, /throughEntry names no entry/]]) {
    assert.equal(entry.message.isError, true, text(entry));
    assert.match(text(entry), told);
  }
});

test("pages that are pinned stay the same while the session grows", async (t) => {
  const chat = await openChat(t);
  await work(chat, "rain");
  await chat.user("Print it all.", [{ calls: [bash("cat huge.txt")] }, "Printed."]);
  const [first] = await ask(chat, grep({ pattern: "huge output" }));
  const next = /with the same parameters and (\{.*\})\]$/.exec(text(first))[1];
  const parameters = { pattern: "huge output", ...JSON.parse(next) };
  const [second] = await ask(chat, grep(parameters));
  const [repeated] = await ask(chat, grep(parameters));
  assert.match(text(second), /\[page 2 of \d+/);
  assert.equal(text(repeated), text(second));
});

test("branches that were left are not found; coming back finds them again", async (t) => {
  const chat = await openChat(t);
  await work(chat, "rain");
  const fork = await chat.leaf();
  await chat.user("The word is marmalade.", ["Marmalade it is."]);
  const here = await chat.leaf();
  await chat.helper(`tree ${fork}`);
  const [away] = await ask(chat, grep({ pattern: "marmalade" }));
  assert.match(text(away), /^No matches/);
  await chat.helper(`tree ${here}`);
  const [back] = await ask(chat, grep({ pattern: "marmalade" }));
  assert.match(text(back), /^2 matching lines/);
});

test("--no-session: the branch in memory is searched", async (t) => {
  const chat = await openChat(t, { args: ["--no-session"] });
  await work(chat, "rain");
  await keepThis(chat, "rain");
  await chat.compact();
  const [found] = await ask(chat, grep({ pattern: "failing output, line 2" }));
  assert.match(text(found), /failing output, line 2 of 2: 4712/);
});

test("the skill is loaded from the package, without complaints", async (t) => {
  const chat = await openChat(t, { args: ["--no-extensions", "-e", join(REPO_DIR, "pi-extension")], extensions: [] });
  const { commands } = (await chat.pi.send({ type: "get_commands" })).data;
  const skill = commands.find((command) => command.name === "skill:context-retrieval");
  assert.ok(skill, JSON.stringify(commands.map((command) => command.name)));
  assert.match(skill.description, /context_lookup/);
  assert.match(skill.description, /provenance/);
  assert.match(skill.description, /contradictions/);
  await chat.user("Hello.", ["Hello!"]);
  const system = JSON.stringify(chat.ws.llm.requests().at(-1).body.messages[0]);
  assert.ok(system.includes("context-retrieval"), "the model is told of it");

  const pi = join(PI_ROOT, "@earendil-works", "pi-coding-agent", "dist", "index.js");
  const { loadSkillsFromDir } = await import(pathToFileURL(pi));
  const loaded = loadSkillsFromDir({ dir: join(REPO_DIR, "pi-extension", "skills"), source: "test" });
  assert.deepEqual(loaded.diagnostics, []);
  assert.deepEqual(loaded.skills.map(({ name }) => name), ["context-retrieval"]);

  const body = readFileSync(join(REPO_DIR, "pi-extension", "skills", "context-retrieval", "SKILL.md"), "utf8");
  for (const said of [/`question` and nothing else/, /fall back/, /## Pages/, /session's own file alone/, /branch of the tree that was given up/, /audit/, /reasoning at the time/, /nothing to look up/]) {
    assert.match(body, said);
  }
});
