// What the extension needs of Pi: from 0.87 on it works; on an older one it says in
// one line that it does nothing, and Pi works as without it. PI_VERSION=0.86.1 tests/run
// runs this file on such a Pi.
import assert from "node:assert/strict";
import test from "node:test";
import { EXTENSION, openChat, prose } from "./chat.mjs";
import { isCompaction } from "./harness/conversation.mjs";
import { PI_VERSION, piIs, readSession, runPiPrint } from "./harness/harness.mjs";

const OLD = !piIs("0.87");
const NOTICE = `pi-stet does nothing: it needs Pi 0.87.0 or newer, this is ${PI_VERSION}`;
const OURS = ["compaction-method", "cap-compaction", "checkpoint", "stet"];

test(`Pi ${PI_VERSION}: the extension ${OLD ? "says that it does nothing" : "works"}`, async (t) => {
  const chat = await openChat(t, { extensions: [] });
  await chat.user("Never mention umbrellas.", ["I will not."]);
  await chat.user(prose("the kept question", 800), [prose("the kept answer", 800)]);
  const { commands } = (await chat.pi.send({ type: "get_commands" })).data;
  assert.deepEqual(OURS.filter((name) => commands.some((command) => command.name === name)), OLD ? [] : OURS);
  if (OLD) chat.summariserSays({ history: "Pi's own summary." });
  await chat.compact();
  await chat.user("What now?", ["Now we go on."]);

  const { summary } = readSession(await chat.sessionFile()).find(isCompaction);
  assert.ok(summary.startsWith(OLD ? "Pi's own summary." : "# Checkpoint"), summary);
  const offered = chat.ws.llm.requests().at(-1).body.tools.map((tool) => tool.function.name);
  assert.equal(offered.includes("context_grep"), !OLD);
  assert.deepEqual(chat.notices("warning"), OLD ? [NOTICE] : []);
  assert.deepEqual(chat.events().filter(({ type }) => ["extension_error", "not_json"].includes(type)), []);

  chat.ws.llm.addSteps({ text: "Hello!" });
  const printed = await runPiPrint(chat.ws, "Hello.", { ...chat.options, extensions: [EXTENSION] });
  assert.deepEqual([printed.code, printed.stdout.trim()], [0, "Hello!"], printed.stderr);
  assert.equal(printed.stderr, OLD ? `${NOTICE}\n` : "");
});
