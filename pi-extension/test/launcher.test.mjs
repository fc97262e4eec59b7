// The small process that starts the binary for a long-lived Pi (Linux; elsewhere there is none).
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { runPiPrint } from "../../tests/pi/harness/harness.mjs";
import { Launcher } from "../src/launcher.ts";
import { EXTENSION, isAlive, OTTER, talk, textOf, until, withPi } from "./support.mjs";

const LINUX = process.platform === "linux";
const options = LINUX ? {} : { skip: "there is no launcher here: starting a process copies no page tables" };

/** Processes that run the launcher's script below that one. */
const launchersOf = (pid) =>
  readdirSync("/proc").filter((name) => {
    try {
      const parent = /^PPid:\t(\d+)/m.exec(readFileSync(`/proc/${name}/status`, "utf8"))?.[1];
      return parent === String(pid) && readFileSync(`/proc/${name}/cmdline`, "utf8").includes("launcher-process.js");
    } catch {
      return false;
    }
  });

const parentOf = (pid) => Number(/^PPid:\t(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]);

/** A launcher that is ready, and ends with the test. */
async function started(t) {
  const launcher = new Launcher();
  t.after(() => launcher.end());
  launcher.start();
  const pid = await until(async () => {
    const parent = await ppid(launcher);
    return parent !== process.pid && parent;
  }, "its first call");
  return { launcher, pid };
}

const shell = (script, more = {}) => ({ binary: "/bin/sh", args: ["-c", script], timeoutMs: 10_000, maxStdoutBytes: 1 << 24, ...more });
const ppid = async (launcher) => Number((await launcher.run(shell("echo $PPID"))).stdout);

describe("a launcher", options, () => {
  test("gives what a direct run gives: output, status, signal, faults and limits", async (t) => {
    const { launcher } = await started(t);
    const run = (script, more) => launcher.run(shell(script, more));
    assert.deepEqual(await run("cat; echo bad >&2; exit 3", { input: "in, schön 🙂" }), { kind: "exited", status: 3, killedBy: null, stdout: "in, schön 🙂", stderr: "bad\n" });
    assert.equal((await run("kill -KILL $$")).killedBy, "SIGKILL");
    assert.deepEqual(await run("yes", { maxStdoutBytes: 100_000 }), { kind: "tooLarge" });
    assert.deepEqual(await run("sleep 60", { timeoutMs: 100 }), { kind: "timeout" });
    const missing = await launcher.run({ ...shell(""), binary: "/nowhere/otter" });
    assert.deepEqual([missing.kind, missing.code], ["unstartable", "ENOENT"]);
    assert.deepEqual(await run("true", { signal: AbortSignal.abort() }), { kind: "aborted" });
  });

  test("a long output arrives whole, whatever its characters", async (t) => {
    const { launcher } = await started(t);
    const text = "äöü 日志 🙂 word ".repeat(100_000);
    const { stdout } = await launcher.run(shell("cat", { input: text }));
    assert.ok(stdout === text);
  });

  test("runs in Pi's folder and environment as they are then", async (t) => {
    const { launcher } = await started(t);
    process.env.OTTER_SEA = "calm";
    t.after(() => delete process.env.OTTER_SEA);
    const { stdout } = await launcher.run(shell("echo $OTTER_SEA; pwd"));
    assert.equal(stdout, `calm\n${process.cwd()}\n`);
  });

  test("many calls at once do not mix", async (t) => {
    const { launcher } = await started(t);
    const results = await Promise.all(Array.from({ length: 20 }, (_, n) => launcher.run(shell(`sleep 0.0${n % 7}; echo ${n}`))));
    assert.deepEqual(results.map(({ stdout }) => Number(stdout)), [...results.keys()]);
  });

  test("an aborted call ends at once, and its process too", async (t) => {
    const { launcher } = await started(t);
    const abort = new AbortController();
    const call = launcher.run(shell("echo $$ >&2; sleep 60", { signal: abort.signal }));
    setTimeout(() => abort.abort(), 200);
    assert.deepEqual(await call, { kind: "aborted" });
  });

  test("that is killed in the middle of a call: the call runs again, directly", async (t) => {
    const { launcher, pid } = await started(t);
    const call = launcher.run(shell("sleep 0.5; echo $PPID"));
    process.kill(pid, "SIGKILL");
    assert.equal(Number((await call).stdout), process.pid);
    assert.equal(await ppid(launcher), process.pid, "and so do all after it");
  });

  test("that stands still is ended when its call is far too late", async (t) => {
    const { launcher, pid } = await started(t);
    process.kill(pid, "SIGSTOP");
    const { stdout } = await launcher.run(shell("echo $PPID", { timeoutMs: 100 }));
    assert.equal(Number(stdout), process.pid);
    assert.ok(!isAlive(pid));
  });
});

test("in Pi: the hooks run through one launcher, which goes with the session", options, async () => {
  await withPi({}, async (pi) => {
    await talk(pi);
    const [launcher, ...more] = launchersOf(pi.pid).map(Number);
    assert.deepEqual(more, []);
    pi.fault({ fail: "hang" });
    pi.send({ type: "compact" }).catch(() => {});
    const { pid } = await until(() => pi.envelopes("session_before_compact")[0], "the hook");
    // The binary is a script: env, then node, in one process.
    assert.equal(parentOf(pid), launcher);
    await pi.send({ type: "abort" });
    await until(() => !isAlive(pid), "the end of the hook");
    await pi.send({ type: "new_session" });
    await until(() => !isAlive(launcher), "the end of the launcher");
    assert.equal((await until(() => launchersOf(pi.pid), "the next one")).length, 1);
    assert.deepEqual(pi.extensionErrors(), []);
  });
});

test("Pi is killed: launcher and hook end as well", options, async () => {
  await withPi({ fault: { fail: "hang" } }, async (pi) => {
    await talk(pi);
    pi.send({ type: "compact" }).catch(() => {});
    const { pid } = await until(() => pi.envelopes("session_before_compact")[0], "the hook");
    const [launcher] = launchersOf(pi.pid).map(Number);
    process.kill(pi.pid, "SIGKILL");
    await pi.exit;
    await until(() => !isAlive(pid) && !isAlive(launcher), "their end");
  });
});

test("print mode asks too little for a launcher", options, async () => {
  await withPi({}, async (pi) => {
    const look = "pgrep --parent $PPID --full '[l]auncher-process' || echo none";
    pi.ws.llm.addSteps({ toolCalls: [{ name: "bash", arguments: { command: look } }] }, { text: "Done." });
    const { code } = await runPiPrint(pi.ws, "Hello.", { extensions: [EXTENSION], env: { PI_STET_BIN: OTTER } });
    assert.equal(code, 0);
    const results = pi.ws.llm.requests().at(-1).body.messages.filter((message) => message.role === "tool");
    assert.equal(textOf(results[0].content).trim(), "none");
  });
});
