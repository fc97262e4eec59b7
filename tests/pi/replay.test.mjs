// Recordings replay anywhere, to the same bytes, and write nothing.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { BINARY, openChat, prose } from "./chat.mjs";
import { assertCheckpoints } from "./expect.mjs";
import { bash } from "./harness/conversation.mjs";
import { filesBelow } from "./harness/harness.mjs";

const RECORDS = "records";

async function recordedChat(t, args) {
  const chat = await openChat(t, { args, env: { PI_STET_RECORD: RECORDS } });
  for (const topic of ["rain", "snow"]) {
    await chat.user(`Look at the files for ${topic}: 风 🌬️`, [
      {
        think: `Thinking about ${topic} only.`,
        say: `I look at ${topic}.`,
        calls: [bash("cat medium.txt"), bash("sh fail.sh")],
      },
      `The files for ${topic} are read.`,
    ]);
    await chat.bash("printf 'hunter%s of the person' 2", { hidden: true });
    await chat.user(prose(`the kept question about ${topic}`, 800), [prose(`the kept answer about ${topic}`, 800)]);
    await chat.compact(topic === "snow" ? "mind the snow" : undefined);
    await chat.user("What now?", ["Now we go on."]);
  }
  await assertCheckpoints(chat, { count: 2 });
  await chat.close();
  return chat;
}

/** Pairs of a recorded envelope and its reply: [{ name, envelope, reply }]. */
function pairsIn(dir) {
  const envelopes = readdirSync(dir)
    .filter((name) => name.endsWith(".envelope.json"))
    .sort();
  return envelopes.map((name) => ({
    name,
    envelope: readFileSync(join(dir, name)),
    reply: readFileSync(join(dir, name.replace(".envelope.json", ".reply.json"))),
  }));
}

const contentsOf = (dir) => filesBelow(dir).map((file) => [file, readFileSync(file).toString("base64")]);

for (const [where, args] of [
  ["a session file", []],
  ["a session in memory", ["--no-session"]],
]) {
  test(`recordings of ${where} replay bit for bit from another folder`, async (t) => {
    const chat = await recordedChat(t, args);
    const dir = join(chat.ws.cwd, RECORDS);
    const pairs = pairsIn(dir);
    const compactions = pairs.filter(({ name }) => name.includes("session_before_compact"));
    assert.equal(compactions.length, 2, `both compactions were recorded: ${pairs.map(({ name }) => name)}`);
    for (const file of filesBelow(dir)) assert.equal(statSync(file).mode & 0o777, 0o600, `${file} is private`);

    rmSync(join(chat.ws.agentDir, "sessions"), { recursive: true, force: true });
    const elsewhere = mkdtempSync(join(tmpdir(), "pi-replay-"));
    t.after(() => rmSync(elsewhere, { recursive: true, force: true }));
    const before = contentsOf(chat.ws.root);
    for (const { name, envelope, reply } of pairs) {
      const run = spawnSync(BINARY, ["hook"], {
        input: envelope,
        cwd: elsewhere,
        env: { HOME: elsewhere, TZ: "Asia/Tokyo" },
      });
      assert.equal(run.status, 0, `${name}: ${run.stderr}`);
      assert.equal(run.stdout.toString(), reply.toString(), `${name} replays to the same bytes`);
    }
    assert.deepEqual(contentsOf(elsewhere), [], "a replay writes nothing where it runs");
    assert.deepEqual(contentsOf(chat.ws.root), before, "and nothing where it was recorded");
  });
}
