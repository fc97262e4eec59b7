// A conversation in real Pi with our extension and our binary.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Conversation, isCompaction, OFF_SCRIPT } from "./harness/conversation.mjs";
import { HELPER_EXTENSION, makeWorkspace, ORACLE_EXTENSION, readSession, REPO_DIR } from "./harness/harness.mjs";

export const EXTENSION = join(REPO_DIR, "pi-extension");
export const BINARY = process.env.PI_STET_BIN ?? join(REPO_DIR, "target", "release", "pi-stet");

if (!existsSync(BINARY)) throw new Error(`there is no ${BINARY}: run \`cargo build --release\``);

/** Text of a tool output that cannot be mistaken for anything a person or a model says. */
export function output(topic, lines) {
  return Array.from(
    { length: lines },
    (_, i) => `${topic} output, line ${i + 1} of ${lines}: ${(i * 7919) % 10007}`,
  ).join("\n");
}

/** A paragraph of that many characters, different for each topic. */
export function prose(topic, characters) {
  const sentence = `${topic} is what this sentence is about. `;
  return sentence.repeat(Math.ceil(characters / sentence.length)).slice(0, characters);
}

/** Files every chat finds in its project; the tests cat them. */
const FILES = {
  "small.txt": output("small", 12),
  "medium.txt": output("medium", 60),
  // Close to the 50 KB that Pi lets a tool print.
  "huge.txt": output("huge", 1200),
  "fail.sh": "echo 'failing output, line 1 of 2: 4711'\necho 'failing output, line 2 of 2: 4712'\nexit 3\n",
};

/**
 * Opens a chat and ends it with the test.
 *   window, reserve, keep   Pi's numbers for compaction
 *   args                    Pi's arguments, such as ["--no-session"]
 *   session                 a session's text to open, with {{cwd}} for the project folder,
 *                           or (file, cwd) => … that writes one
 *   env, files              added to the environment, to the project
 *   autoCompaction          false: only by hand
 *   onDialog                answers dialogs (see Dialogs)
 *   oracle                  false: Pi's preparations are not written down (they are as large as the session)
 *   under, timeoutMs        see startPiRpc
 *   prepare                 called with the workspace before Pi starts
 *   settings                more of Pi's settings
 *   extensions              loaded after the helper
 */
export async function openChat(t, options = {}) {
  const { window = 200_000, reserve = 4000, keep = 300, autoCompaction = true } = options;
  const ws = await makeWorkspace({
    model: { reasoning: true, contextWindow: window },
    settings: { compaction: { enabled: autoCompaction, reserveTokens: reserve, keepRecentTokens: keep }, ...options.settings },
    files: { ...FILES, ...options.files },
    script: { fallback: OFF_SCRIPT },
  });
  const args = [...(options.args ?? [])];
  if (options.session !== undefined) {
    const dir = join(ws.agentDir, "sessions", "given");
    mkdirSync(dir, { recursive: true });
    const file = join(dir, "session.jsonl");
    if (typeof options.session === "function") options.session(file, ws.cwd);
    else writeFileSync(file, options.session.replaceAll("{{cwd}}", ws.cwd));
    args.push("--session", file);
  }
  const oracleLog = join(ws.root, "oracle.jsonl");
  writeFileSync(oracleLog, "");
  options.prepare?.(ws);
  const chat = new Chat(ws, {
    // The oracle sees Pi's preparation before anybody answers; the helper answers after us.
    extensions: [...(options.oracle === false ? [] : [ORACLE_EXTENSION]), EXTENSION, HELPER_EXTENSION, ...(options.extensions ?? [])],
    args,
    env: { PI_STET_BIN: BINARY, ORACLE_LOG: oracleLog, ...options.env },
    onDialog: options.onDialog,
    under: options.under,
    timeoutMs: options.timeoutMs,
  });
  chat.oracleLog = oracleLog;
  t.after(async () => {
    await chat.close();
    await ws.dispose({ keep: process.env.KEEP_WORKSPACES === "1" });
  });
  return chat;
}

/** A person who gives these answers to the dialogs that appear, one after the other. */
export class Dialogs {
  /** The answers: a text, ESCAPE or SILENCE. */
  constructor(...answers) {
    this.answers = answers;
    /** The dialogs as they were shown: { method, title, options? }. */
    this.shown = [];
    this.onDialog = (request) => this.answer(request);
  }

  answer(request) {
    if (!["select", "input", "confirm"].includes(request.method)) return undefined;
    this.shown.push(request);
    // A dialog that no test foresees is dismissed; the number of those shown tells.
    const answer = this.answers.length > 0 ? this.answers.shift() : ESCAPE;
    if (answer === SILENCE) return undefined;
    return answer === ESCAPE ? { cancelled: true } : { value: answer };
  }
}

export const ESCAPE = Symbol("Escape");
export const SILENCE = Symbol("silence");

class Chat extends Conversation {
  /** Ends Pi and opens the same session file in a new Pi. */
  async resume({ args = [] } = {}) {
    const file = await this.sessionFile();
    if (!file) throw new Error("this session has no file to resume");
    await this.restart({ args: [...args, "--session", file] });
  }

  /** What Pi prepared, compaction by compaction: the oracle's records of those that were saved. */
  preparations() {
    const prepared = new Map();
    let before;
    for (const record of readSession(this.oracleLog)) {
      if (record.event === "before") before = record;
      if (record.event === "compact") prepared.set(record.compactionId, before);
    }
    return prepared;
  }

  /** What `pi-stet verify` says of the branch as it is now: { status, stdout, stderr }. */
  async verify() {
    const branch = await this.branch();
    const file = await this.sessionFile();
    const [path, input] = file && existsSync(file) ? [file, ""] : ["-", this.asFile(branch)];
    const leaf = ["--leaf", branch.at(-1).id];
    return spawnSync(BINARY, ["verify", path, ...leaf], { input, encoding: "utf8", maxBuffer: 1 << 28 });
  }

  /** A branch that lives in memory only, as a session file. */
  asFile(branch) {
    const header = { type: "session", version: 3, id: "in-memory", cwd: this.ws.cwd };
    return `${[header, ...branch].map((line) => JSON.stringify(line)).join("\n")}\n`;
  }

  /** The compactions on the branch, oldest first. */
  async compactions() {
    return (await this.branch()).filter(isCompaction);
  }

  /** Texts of the notices that were shown, those of one level if it is named. */
  notices(level) {
    return this.events()
      .filter((event) => event.type === "extension_ui_request" && event.method === "notify")
      .filter((event) => level === undefined || event.notifyType === level)
      .map((event) => event.message);
  }

  /** A command of ours; gives the notices it led to as one text. */
  async command(text) {
    const before = this.notices().length;
    await this.pi.prompt(text);
    return this.notices().slice(before).join("\n");
  }

  /** The data of the branch's custom entries of a type, oldest first. */
  async settings(customType) {
    const entries = await this.branch();
    return entries.filter((entry) => entry.customType === customType).map((entry) => entry.data);
  }
}
