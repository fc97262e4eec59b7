// Real Pi with this extension and the second binary.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeWorkspace, startPiRpc } from "../../tests/pi/harness/harness.mjs";
import { isSummariserCall, SUMMARISER } from "../../tests/pi/harness/server.mjs";

export const EXTENSION = join(import.meta.dirname, "..");
export const OTTER = join(import.meta.dirname, "otter.mjs");
export const OTHER_EXTENSION = join(import.meta.dirname, "other-extension.ts");
export const PI_SUMMARY = "Pi's own summary, by the model.";

/** Small limits, so that a few turns are enough to compact. */
const COMPACTION = { enabled: false, reserveTokens: 4000, keepRecentTokens: 50 };
const SUMMARISER_RULE = { when: { systemIncludes: SUMMARISER }, reply: { text: PI_SUMMARY } };

/**
 * Runs `test` with a workspace and a Pi, and ends both.
 *   steps, rules   the model's script; the summariser is always answered
 *   env            for Pi, and so for the binary
 *   fault          how the binary fails (see otter.mjs); `pi.fault({…})` changes it
 *   before, after  extensions loaded before and after ours
 */
export async function withPi(options, test) {
  const { steps = [], rules = [], env = {}, fault = {}, before = [], after = [], settings = {}, ...forPi } = options;
  const ws = await makeWorkspace({
    script: { rules: [SUMMARISER_RULE, ...rules], steps },
    settings: { compaction: COMPACTION, ...settings },
    files: { "AGENTS.md": "Otters rule here.\n" },
  });
  const log = join(ws.root, "otter.log");
  const faultFile = join(ws.root, "otter-fault.json");
  const setFault = (value) => writeFileSync(faultFile, JSON.stringify(value));
  setFault(fault);
  const pi = startPiRpc(ws, {
    extensions: [...before, EXTENSION, ...after],
    env: { PI_STET_BIN: OTTER, OTTER_LOG: log, OTTER_FAULT: faultFile, ...env },
    ...forPi,
  });
  try {
    await test(Object.assign(pi, {
      ws,
      fault: setFault,
      envelopes: (event) => readLines(log).filter((envelope) => event === undefined || envelope.event === event),
      notices: () => pi.events.filter((e) => e.method === "notify").map(({ message, notifyType }) => ({ message, level: notifyType })),
      warnings: () => pi.events.filter((e) => e.method === "notify" && e.notifyType === "warning").map((e) => e.message),
      requests: () => ws.llm.requests().map((request) => request.body),
      summariserCalls: () => ws.llm.requests().filter(isSummariserCall).length,
      entries: () => ws.sessionFiles().flatMap((file) => ws.readSession(file)),
      compactions: () => ws.sessionFiles().flatMap((file) => ws.readSession(file)).filter((entry) => entry.type === "compaction"),
      extensionErrors: () => pi.events.filter((e) => e.type === "extension_error"),
    }));
  } finally {
    await pi.close();
    await ws.dispose();
  }
}

export function readLines(file) {
  try {
    return readFileSync(file, "utf8").split("\n").filter(Boolean).map((line) => JSON.parse(line));
  } catch (error) {
    if (error.code === "ENOENT") return [];
    throw error;
  }
}

/** Enough of a session that there is something to compact. */
export async function talk(pi, turns = 3) {
  for (let n = 1; n <= turns; n += 1) await pi.prompt(`Question ${n}: ${"tell me about rivers ".repeat(10)}`);
}

/** Waits until `check` gives something true; for what Pi does without telling. */
export async function until(check, what, timeoutMs = 5000) {
  const end = Date.now() + timeoutMs;
  for (;;) {
    const value = await check();
    if (value) return value;
    if (Date.now() > end) throw new Error(`waited ${timeoutMs} ms in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

export function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    if (error.code === "ESRCH") return false;
    throw error;
  }
}

export const textOf = (content) => (typeof content === "string" ? content : (content ?? []).map((part) => part.text ?? "").join(""));
