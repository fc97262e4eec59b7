// Recordings replay to the same reply, byte for byte, anywhere; the log holds no text.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { piIs } from "../../tests/pi/harness/harness.mjs";
import { openLog } from "../src/log.ts";
import { openRecorder, withoutResolved } from "../src/record.ts";
import { OTTER, readLines, talk, until, withPi } from "./support.mjs";

test("every pair replays from another folder, after the session is gone", async () => {
  const onDialog = ({ method }) => method === "select" && { value: "long" };
  const env = { PI_STET_RECORD: "recorded", PI_STET_LOG: "log.jsonl", OTTER_COMPACT: "ask", OTTER_DEPTH: "deep" };
  const steps = [{ toolCalls: [{ name: "dive", arguments: { where: "the bay" } }] }];
  await withPi({ env, onDialog, steps }, async (pi) => {
    await talk(pi);
    await pi.send({ type: "compact" });
    await pi.prompt("and now?");
    await pi.close();

    const dir = join(pi.ws.cwd, "recorded");
    assert.equal(statSync(dir).mode & 0o777, 0o700);
    const names = readdirSync(dir).sort();
    const envelopes = names.filter((name) => name.endsWith(".envelope.json"));
    assert.deepEqual(
      envelopes.map((name) => name.replace(".envelope.json", "")),
      ["0001-session_start", "0002-tool", "0003-session_before_compact", "0004-session_before_compact", "0005-session_compact", "0006-before_agent_start", "0007-context_with_system"],
    );
    assert.equal(names.length, 2 * envelopes.length);

    const recorded = Object.fromEntries(names.map((name) => [name, readFileSync(join(dir, name), "utf8")]));
    for (const name of names) assert.equal(statSync(join(dir, name)).mode & 0o777, 0o600);
    const given = pi.envelopes("session_before_compact").at(-1);
    for (const file of pi.ws.sessionFiles()) rmSync(file);

    const asked = JSON.parse(recorded["0003-session_before_compact.envelope.json"]);
    const compact = JSON.parse(recorded["0004-session_before_compact.envelope.json"]);
    assert.equal(asked.answers, undefined);
    assert.deepEqual(compact.answers, { select: { value: "long" } });
    assert.equal(compact.record, undefined);
    assert.equal(compact.dryRun, true);
    assert.equal(compact.now, given.now);
    assert.deepEqual(compact.settings, { depth: "deep" });
    assert.deepEqual(compact.files, [{ role: "readme", path: "/otter", mtimeMs: 1.5, text: "kelp" }]);
    assert.equal(compact.session.file, undefined);
    assert.equal(compact.session.branch.at(-1).id, given.session.leafId);
    assert.equal(given.record, true);

    for (const name of envelopes) {
      const run = spawnSync(OTTER, ["hook"], { input: recorded[name], cwd: "/", env: { PATH: process.env.PATH, OTTER_COMPACT: "ask" } });
      assert.equal(run.status, 0, run.stderr.toString());
      assert.equal(run.stdout.toString(), recorded[name.replace("envelope", "reply")], name);
    }

    const log = readLines(join(pi.ws.cwd, "log.jsonl"));
    assert.deepEqual(
      log.map(({ event, outcome }) => `${event} ${outcome}`),
      ["session_start none", "tool:dive result", "session_before_compact ask", "session_before_compact result", "session_compact none", "before_agent_start result", "context_with_system result"],
    );
    for (const line of log) {
      assert.deepEqual(Object.keys(line), ["at", "event", "ms", "sentBytes", "receivedBytes", "outcome"]);
      assert.ok(line.ms > 0 && line.sentBytes > 0 && line.receivedBytes > 0);
    }
    assert.ok(!/rivers|kelp|OTTER/.test(JSON.stringify(log)));
    assert.deepEqual(pi.extensionErrors(), []);
  });
});

test("a second Pi adds to the folder and overwrites nothing", async () => {
  await withPi({ env: { PI_STET_RECORD: "recorded" } }, async (pi) => {
    await pi.prompt("/otter hello");
    await pi.send({ type: "new_session" });
    await pi.prompt("/otter hello again");
    await pi.close();
    const names = readdirSync(join(pi.ws.cwd, "recorded")).filter((name) => name.endsWith(".reply.json")).sort();
    // In RPC mode Pi before 0.99 tells of a new session twice.
    const events = ["session_start", "command", "session_start", ...(piIs("0.99") ? [] : ["session_start"]), "command"];
    assert.deepEqual(names, events.map((event, at) => `000${at + 1}-${event}.reply.json`));
  });
});

test("what lies in the folder already is left alone, and no link is written through", async () => {
  const root = mkdtempSync(join(tmpdir(), "pi-stet-record-"));
  try {
    const dir = join(root, "recorded");
    mkdirSync(dir);
    const target = join(root, "target");
    symlinkSync(target, join(dir, "0001-tool.envelope.json"));
    symlinkSync(target, join(dir, "0002-tool.reply.json"));
    writeFileSync(join(dir, `${"9".repeat(200)}-tool.envelope.json`), "mine");
    const recorder = openRecorder(dir);
    const before = readdirSync(dir);
    for (let n = 0; n < 2; n += 1) await recorder.write({ protocol: 1, event: "tool" }, undefined, {}, "{}\n");
    const added = readdirSync(dir).filter((name) => !before.includes(name)).sort();
    assert.deepEqual(added, [3, 4].flatMap((n) => [`000${n}-tool.envelope.json`, `000${n}-tool.reply.json`]));
    assert.equal(existsSync(target), false);
  } finally {
    rmSync(root, { recursive: true });
  }
});

test("recordings and log are for their owner alone, whatever the umask", async () => {
  const root = mkdtempSync(join(tmpdir(), "pi-stet-record-"));
  const umask = process.umask(0);
  try {
    const [dir, log] = [join(root, "recorded"), join(root, "log.jsonl")];
    await openRecorder(dir).write({ protocol: 1, event: "tool" }, undefined, {}, "{}\n");
    openLog(log)({ event: "tool", ms: 1, sentBytes: 1, receivedBytes: 1, outcome: "none" });
    await until(() => existsSync(log), "the log");
    const files = [log, ...readdirSync(dir).map((name) => join(dir, name))];
    assert.deepEqual(files.map((file) => statSync(file).mode & 0o777), [0o600, 0o600, 0o600]);
    assert.equal(statSync(dir).mode & 0o777, 0o700);
  } finally {
    process.umask(umask);
    rmSync(root, { recursive: true });
  }
});

test("no word of the session is in arguments or environment of the binary", async () => {
  const root = mkdtempSync(join(tmpdir(), "pi-stet-seen-"));
  try {
    const [binary, seen] = [join(root, "binary"), join(root, "seen")];
    const script = `#!/bin/sh\n{ printf 'argument %s\\n' "$@"; env; } >> '${seen}'\nexec '${OTTER}' "$@"\n`;
    writeFileSync(binary, script, { mode: 0o755 });
    await withPi({ env: { PI_STET_BIN: binary } }, async (pi) => {
      await talk(pi);
      await pi.send({ type: "compact" });
      await pi.prompt("more about rivers?");
      assert.equal(pi.compactions().length, 1);
      const text = readFileSync(seen, "utf8");
      const given = new Set(text.split("\n").filter((line) => line.startsWith("argument ")));
      assert.deepEqual([...given].sort(), ["argument hook", "argument manifest"]);
      assert.ok(!/rivers|Otters rule/.test(text));
    });
  } finally {
    rmSync(root, { recursive: true });
  }
});

test("a folder that cannot be written is named once, and costs nothing else", async () => {
  await withPi({ env: { PI_STET_RECORD: "/dev/null/recorded", PI_STET_LOG: "/dev/null/log" } }, async (pi) => {
    await pi.prompt("/otter hello");
    assert.equal(pi.warnings().filter((text) => text.includes("could not write a recording")).length, 1);
    assert.equal(pi.notices().at(-1).message, 'otter heard "hello"');
    assert.deepEqual(pi.extensionErrors(), []);
  });
});

test("cutting `resolved` out of a reply leaves every other byte as it was", () => {
  const cases = [
    ['{"a":1.0,"resolved":{"x":[1,{"y":"}"}]},"b":2}\n', '{"a":1.0,"b":2}\n'],
    ['{"resolved":null,"a":{"9":1,"1":2}}', '{"a":{"9":1,"1":2}}'],
    ['{ "a" : "\\\\\\"resolved\\"" , "resolved" : { } }', '{ "a" : "\\\\\\"resolved\\"" }'],
    ['{"result":{"resolved":1},"a":"resolved","b":["resolved",{"resolved":2}]}', undefined],
    ['{"a":"\\\\","resolved":1}', '{"a":"\\\\"}'],
  ];
  for (const [text, expected] of cases) assert.equal(withoutResolved(text), expected ?? text);
});
