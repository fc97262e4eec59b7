// The skill of the package: Pi finds it, and a model is told about it.
import assert from "node:assert/strict";
import test from "node:test";
import { openChat } from "./chat.mjs";

test("Pi loads the skill from the package and names it in the prompt", async (t) => {
  const chat = await openChat(t);
  const { commands } = (await chat.pi.send({ type: "get_commands" })).data;
  assert.ok(
    commands.some((command) => command.name === "skill:context-retrieval"),
    JSON.stringify(commands.map((command) => command.name)),
  );
  await chat.user("Hello.", ["Hello."]);
  const prompt = JSON.stringify(chat.ws.llm.requests()[0].body.messages[0]);
  assert.match(prompt, /context-retrieval/);
  assert.match(prompt, /context_lookup/);
});
