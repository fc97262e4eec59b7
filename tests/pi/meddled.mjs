// A chat whose binary the meddler stands in for (see meddler.mjs), and something to compact.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BINARY, openChat, prose } from "./chat.mjs";
import { bash } from "./harness/conversation.mjs";
import { readSession } from "./harness/harness.mjs";

const MEDDLER = join(import.meta.dirname, "meddler.mjs");

/**
 * Opens a chat as openChat does. `meddle({…})` sets the fault; `meddled()` tells of its runs.
 *   fault  what is wrong from the start
 */
export async function openMeddled(t, { fault = {}, env = {}, ...options } = {}) {
  const dir = mkdtempSync(join(tmpdir(), "pi-test-meddler-"));
  t.after(() => rmSync(dir, { recursive: true }));
  const faultFile = join(dir, "fault.json");
  const log = join(dir, "log.jsonl");
  const meddle = (value) => writeFileSync(faultFile, JSON.stringify(value));
  writeFileSync(log, "");
  meddle(fault);
  const meddler = { PI_STET_BIN: MEDDLER, MEDDLER_BINARY: BINARY, MEDDLER_FAULT: faultFile, MEDDLER_LOG: log };
  const chat = await openChat(t, { ...options, env: { ...meddler, ...env } });
  return Object.assign(chat, { meddle, meddled: () => readSession(log) });
}

/** Enough to compact, and what stays. */
export const talk = async (chat, topic) => {
  await chat.user(`What about ${topic}? Never mention umbrellas.`, [
    { say: `I look at ${topic}.`, calls: [bash(`sed s/medium/${topic}/ medium.txt`)] },
    `This is what there is about ${topic}.`,
  ]);
  await chat.user(prose(`the kept question about ${topic}`, 800), [prose(`the kept answer about ${topic}`, 800)]);
};

