// Small sessions for the page: entries as Pi writes them, compactions made by the binary.

import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const BINARY = process.env.PI_STET_BIN ?? new URL("../../target/release/pi-stet", import.meta.url).pathname;

/** A folder that goes when the test file is done. */
export function folder() {
  const path = mkdtempSync(join(tmpdir(), "stet-report-"));
  process.on("exit", () => rmSync(path, { recursive: true, force: true }));
  return path;
}

export class Session {
  constructor(file) {
    this.file = file;
    this.leaf = null;
    this.count = 0;
    this.calls = 0;
    this.clock = Date.UTC(2026, 0, 5, 9);
    this.lines = [JSON.stringify({ type: "session", version: 3, id: "0199a000-0000-7000-8000-00000000cafe", timestamp: new Date(this.clock).toISOString(), cwd: "/home/dev/app" })];
  }
  entry(type, fields) {
    this.count += 1;
    this.clock += 60_000;
    const id = `e${this.count.toString(16).padStart(7, "0")}`;
    this.lines.push(JSON.stringify({ type, id, parentId: this.leaf, timestamp: new Date(this.clock).toISOString(), ...fields }));
    this.leaf = id;
    return id;
  }
  message(message) {
    return this.entry("message", { message: { ...message, timestamp: this.clock } });
  }
  system(instructions) {
    return this.message({ role: "system", content: "", sections: { preamble: "You are a coding agent.", project_context: `<project_instructions path="/home/dev/app/AGENTS.md">\n${instructions}\n</project_instructions>` } });
  }
  user(text) {
    return this.message({ role: "user", content: [{ type: "text", text }] });
  }
  /** Prose, thinking before it, calls `[tool, arguments]` after it. */
  assistant(text, { thinking, calls = [], stopReason } = {}) {
    const content = [];
    if (thinking) content.push({ type: "thinking", thinking });
    if (text) content.push({ type: "text", text });
    this.open = calls.map(([name, args]) => {
      this.calls += 1;
      content.push({ type: "toolCall", id: `call_${this.calls}`, name, arguments: args });
      return [`call_${this.calls}`, name];
    });
    return this.message({ role: "assistant", content, provider: "fake", model: "fake-1", stopReason: stopReason ?? (calls.length ? "toolUse" : "stop") });
  }
  result(text, isError = false) {
    const [toolCallId, toolName] = this.open.shift();
    return this.message({ role: "toolResult", toolCallId, toolName, content: [{ type: "text", text }], details: {}, isError });
  }
  bash(command, output, exitCode = 0, more = {}) {
    return this.message({ role: "bashExecution", command, output, exitCode, cancelled: false, truncated: false, ...more });
  }
  write() {
    writeFileSync(this.file, `${this.lines.join("\n")}\n`);
    return this.file;
  }
  /** A compaction that keeps what follows from `kept` on; `options` are those of `pi-stet compact`. */
  compact(kept, ...options) {
    const args = ["compact", this.write(), "--leaf", this.leaf, "--first-kept", kept, "--json", ...options];
    const made = execFileSync(BINARY, args, { maxBuffer: 1 << 30, stdio: ["ignore", "pipe", "ignore"] });
    return this.entry("compaction", { ...JSON.parse(made), fromHook: true });
  }
  /** The page of the session. */
  report(...options) {
    const page = this.file.replace(/\.jsonl$/, ".html");
    execFileSync(BINARY, ["report", this.write(), "-o", page, ...options], { stdio: ["ignore", "ignore", "pipe"] });
    return page;
  }
}

/** Everything that the page has a picture for. */
export function rich(file) {
  const s = new Session(file);
  const ids = {};
  s.system("Read docs/units.md first.");
  ids.ask = s.user("The wind chill is wrong.\n\n1. Show me the failing test first.\n2. No new dependencies.");
  ids.look = s.assistant("I’ll start with the documentation of the formula.", { thinking: "Units first, then the code.", calls: [["read", { path: "docs/units.md" }], ["bash", { command: "node --test" }]] });
  ids.units = s.result("# Units\n\nEverything is kept in °C, km/h and mm.");
  ids.failing = s.result(`not ok 1 - wind chill\n${"# at units.test.js:12\n".repeat(120)}`, true);
  ids.plan = s.assistant("It fails as expected. Shall I fix the formula now?");
  s.entry("label", { targetId: ids.plan, label: "keep: the question" });
  ids.yes = s.user("Yes, go ahead.");
  s.assistant("", { calls: [["edit", { path: "src/units.js", edits: [{ oldText: "0.5", newText: "0.6215" }] }]] });
  s.result("Successfully replaced 1 block(s) in src/units.js.");
  ids.fixed = s.assistant("Fixed.");
  s.bash("git diff --stat", " src/units.js | 2 +-\n");
  s.bash("cat ~/.netrc", "secret", 0, { excludeFromContext: true });
  ids.first = s.compact(ids.fixed);
  const fork = s.leaf;
  s.user("Try it with Fahrenheit instead.");
  s.assistant("That would change the CSV format; shall I?");
  s.leaf = fork;
  ids.more = s.user("Now the documentation. " + "Every sentence of it must be true, and short. ".repeat(12));
  s.assistant("Reading it again.", { calls: [["read", { path: "README.md" }]] });
  s.result("Weather on the command line.\n".repeat(300));
  ids.note = s.assistant("I note where we are.", { calls: [["checkpoint_update", { text: "Goal: the wind chill is right.\nDone: formula, test.\nOpen: documentation." }]] });
  s.result("Checkpoint kept.");
  ids.docs = s.assistant("The documentation is up to date.");
  ids.second = s.compact(ids.docs, "--method", "checkpoint");
  ids.last = s.user("And the changelog?");
  s.assistant("Writing it.", { calls: [["write", { path: "CHANGELOG.md", content: "- Wind chill: the formula is right.\n".repeat(20) }]] });
  s.result("Successfully wrote to CHANGELOG.md");
  ids.done = s.assistant("Done.");
  ids.third = s.compact(ids.done, "--cap", "900c");
  ids.thanks = s.user("Thank you. What did the failing test say?");
  return [s, ids];
}
