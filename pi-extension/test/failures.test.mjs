// Whatever goes wrong with the binary: Pi works as if we were not there, and
// says so once.
import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { isAlive, PI_SUMMARY, talk, until, withPi } from "./support.mjs";

/** A session of its own that compacts twice: both times by Pi, with one notice, and goes on. */
async function compactsWithoutUs(pi, notice) {
  await pi.send({ type: "new_session" });
  await talk(pi);
  const { sessionFile } = (await pi.send({ type: "get_state" })).data;
  const said = pi.warnings().length;
  const calls = pi.summariserCalls();
  for (let n = 1; n <= 2; n += 1) {
    await pi.send({ type: "compact" });
    await pi.prompt(`After compaction ${n}: ${"tell me about lakes ".repeat(20)}`);
  }
  const entries = pi.ws.readSession(sessionFile);
  const compactions = entries.filter((entry) => entry.type === "compaction");
  assert.deepEqual(compactions.map((entry) => entry.fromHook ?? false), [false, false]);
  for (const entry of compactions) assert.ok(entry.summary.startsWith(PI_SUMMARY));
  assert.ok(pi.summariserCalls() >= calls + 2);
  assert.equal(entries.at(-1).message.role, "assistant");
  assert.equal(pi.warnings().slice(said).filter((text) => notice.test(text)).length, 1, JSON.stringify(pi.warnings()));
  assert.equal(pi.warnings().length, said + 1, `nothing else is said: ${JSON.stringify(pi.warnings())}`);
  assert.deepEqual(pi.extensionErrors(), []);
  assert.equal(pi.stderr(), "");
}

/** The same where it is known from the start: the notice stands before the first prompt. */
async function standsAside(pi, notice) {
  // Pi answers once it has started: what it said about its first session is behind us then.
  await pi.send({ type: "get_state" });
  const said = pi.warnings().length;
  await pi.send({ type: "new_session" });
  await until(() => pi.warnings().length > said, "the notice");
  assert.match(pi.warnings().at(-1), notice);
  await talk(pi);
  await pi.send({ type: "compact" });
  await pi.prompt("still there?");
  const { sessionFile } = (await pi.send({ type: "get_state" })).data;
  const entries = pi.ws.readSession(sessionFile);
  assert.ok(entries.find((entry) => entry.type === "compaction").summary.startsWith(PI_SUMMARY));
  assert.equal(entries.at(-1).message.role, "assistant");
  assert.equal(pi.warnings().length, said + 1, "one notice in the session");
  assert.deepEqual(pi.extensionErrors(), []);
}

const FAILURES = {
  crash: /status 70 \(otter slipped on a stone\)\. Pi makes its own compaction/,
  garbage: /not a reply/,
  notJson: /not a reply/,
  half: /ended by SIGKILL/,
  protocol: /protocol 2/,
  status2: /no usable envelope \(update otter\)/,
  error: /too wet \(wait\)/,
  flood: /larger than its manifest allows/,
};

test("the hook fails", async (t) => {
  await withPi({}, async (pi) => {
    for (const [how, notice] of Object.entries(FAILURES)) {
      await t.test(how, async () => {
        pi.fault({ fail: how });
        await compactsWithoutUs(pi, notice);
      });
    }
  });
});

test("the hook hangs past its time limit; the child is gone afterwards", async () => {
  await withPi({ fault: { fail: "hang" }, env: { OTTER_LIMIT: "800" } }, async (pi) => {
    await compactsWithoutUs(pi, /longer than its time limit/);
    const pids = pi.envelopes("session_before_compact").map((envelope) => envelope.pid);
    assert.equal(pids.length, 2);
    assert.deepEqual(pids.filter(isAlive), []);
  });
});

test("Pi ends in the middle of a call: no process is left", async () => {
  await withPi({ fault: { fail: "hang" } }, async (pi) => {
    await talk(pi);
    pi.send({ type: "compact" }).catch(() => {});
    const { pid } = await until(() => pi.envelopes("session_before_compact")[0], "the hook");
    await pi.close();
    await until(() => !isAlive(pid), "the end of the child");
  });
});

test("hook: killed from outside in the middle", async () => {
  await withPi({ fault: { fail: "hang" } }, async (pi) => {
    await talk(pi);
    const compaction = pi.send({ type: "compact" });
    const { pid } = await until(() => pi.envelopes("session_before_compact")[0], "the hook");
    process.kill(pid, "SIGKILL");
    await compaction;
    assert.equal(pi.summariserCalls(), 1);
    assert.ok(pi.warnings().some((text) => text.includes("ended by SIGKILL")));
  });
});

test("a failing hook before every request costs one notice, and the requests nothing", async () => {
  await withPi({ fault: { fail: "crash", on: "context_with_system" } }, async (pi) => {
    await talk(pi);
    await pi.send({ type: "compact" });
    await pi.prompt("one");
    await pi.prompt("two");
    assert.equal(pi.envelopes("context_with_system").length, 2);
    assert.equal(pi.warnings().filter((text) => text.includes("context_with_system")).length, 1);
    assert.ok(JSON.stringify(pi.requests().at(-1)).includes("OTTER NOTE"), "the saved note is still sent");
  });
});

test("a compaction that keeps from an entry that does not exist is not given to Pi", async () => {
  await withPi({ env: { OTTER_COMPACT: "unknownId" } }, (pi) => compactsWithoutUs(pi, /ffffffff, which does not exist/));
});

test("PI_STET_ON_FAILURE=cancel: no model call, whatever fails", async () => {
  for (const options of [{ fault: { fail: "crash" } }, { env: { PI_STET_BIN: "/nowhere/otter" } }]) {
    await withPi({ ...options, env: { ...options.env, PI_STET_ON_FAILURE: "cancel" } }, async (pi) => {
      await talk(pi);
      await assert.rejects(pi.send({ type: "compact" }), /cancelled/);
      assert.equal(pi.summariserCalls(), 0);
      assert.deepEqual(pi.compactions(), []);
      await pi.prompt("still there?");
      assert.equal(pi.entries().at(-1).message.role, "assistant");
    });
  }
});

test("a value of PI_STET_ON_FAILURE that does not exist is named, and the default used", async () => {
  await withPi({ env: { PI_STET_ON_FAILURE: "explode" }, fault: { fail: "crash" } }, async (pi) => {
    await talk(pi);
    await pi.send({ type: "compact" });
    assert.equal(pi.summariserCalls(), 1);
    assert.equal(pi.warnings().filter((text) => text.includes("PI_STET_ON_FAILURE=explode; it uses summary")).length, 1);
  });
});

test("a command that fails says so every time", async () => {
  await withPi({}, async (pi) => {
    await pi.prompt("/otter refuse");
    await pi.prompt("/otter refuse");
    const told = pi.warnings().filter((text) => text.includes("/otter failed: there is no fish (try /otter ask)"));
    assert.equal(told.length, 2);
  });
});

test("the manifest fails", async (t) => {
  const notices = {
    crash: /printed no manifest.*To mend it: run `.*otter\.mjs manifest`/,
    garbage: /is no manifest/,
    protocol: /speaks protocol 7, this extension protocol 1\. To mend it: install/,
  };
  await withPi({}, async (pi) => {
    for (const [how, notice] of Object.entries(notices)) {
      await t.test(how, async () => {
        pi.fault({ manifest: how });
        await standsAside(pi, notice);
      });
    }
  });
});

test("the binary is missing", async () => {
  await withPi({ env: { PI_STET_BIN: "/nowhere/otter" } }, (pi) =>
    standsAside(pi, /PI_STET_BIN names \/nowhere\/otter, which does not exist\. To mend it: /),
  );
});

test("the binary is not executable, or no program at all", async () => {
  const dir = mkdtempSync(join(tmpdir(), "otter-"));
  const file = join(dir, "otter");
  try {
    writeFileSync(file, "#!/bin/sh\necho hello\n", { mode: 0o644 });
    await withPi({ env: { PI_STET_BIN: file } }, async (pi) => {
      await standsAside(pi, /EACCES.*To mend it: chmod \+x /);
      writeFileSync(file, "\u0000\u0001\u0002 not a program");
      chmodSync(file, 0o755);
      await standsAside(pi, /cannot be started|printed no manifest/);
    });
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});
