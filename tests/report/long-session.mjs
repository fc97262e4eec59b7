// Writes a long session: the same seed gives the same entries. Its compactions are real ones, made
// by the binary at the places where Pi would have asked for them.
//
//     node tests/report/long-session.mjs FILE [MEGABYTES] [COMPACTIONS]

import { execFileSync } from "node:child_process";
import { closeSync, openSync, writeFileSync, writeSync } from "node:fs";
import { fileURLToPath } from "node:url";

const WORDS =
  "the parser fails when a line is empty because we never check its length before reading so must not change this café 日志 naïve".split(" ");
const PATHS = ["src/lib.rs", "src/parser/mod.rs", "README.md", "tests/parser.rs", "docs/units.md"];
const BEGIN = Date.UTC(2026, 0, 5, 9);

/** Splitmix32. */
export function dice(seed) {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x9e3779b9) >>> 0;
    let z = state;
    z = Math.imul(z ^ (z >>> 16), 0x21f0aaad);
    z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
    return ((z ^ (z >>> 15)) >>> 0) % below;
  };
}

/** Writes `megabytes` of session to `file`; says how many entries it has. */
export function writeLongSession(file, { megabytes, compactions = 8, output = 6000, seed = 7, binary }) {
  const roll = dice(seed);
  const header = { type: "session", version: 3, id: "0199a000-0000-7000-8000-00000000face", timestamp: new Date(BEGIN).toISOString(), cwd: "/home/dev/app" };
  writeFileSync(file, `${JSON.stringify(header)}\n`);
  let [written, count, leaf, clock, calls, lastUser] = [0, 0, null, BEGIN, 0, null];
  let buffer = [];
  const flush = () => {
    const handle = openSync(file, "a");
    writeSync(handle, buffer.join(""));
    closeSync(handle);
    buffer = [];
  };
  const entry = (type, fields) => {
    count += 1;
    clock += 1000 + roll(20_000);
    const id = count.toString(16).padStart(8, "0");
    const line = `${JSON.stringify({ type, id, parentId: leaf, timestamp: new Date(clock).toISOString(), ...fields })}\n`;
    leaf = id;
    written += line.length;
    buffer.push(line);
    if (buffer.length > 500) flush();
    return id;
  };
  const prose = (words) => Array.from({ length: words / 2 + roll(words) }, () => WORDS[roll(WORDS.length)]).join(" ");
  const message = (fields) => entry("message", { message: { ...fields, timestamp: clock } });
  const text = (words) => ({ type: "text", text: prose(words) });
  // Outputs are cut from one long text; to roll each word would take minutes.
  const sheet = Array.from({ length: 4000 }, (_, n) => `${n}: ${prose(8)}`).join("\n");
  const says = (content, stopReason) => message({ role: "assistant", content, provider: "fake", model: "fake-1", stopReason });
  const turn = () => {
    lastUser = message({ role: "user", content: [text(40)] });
    for (let steps = roll(6); steps > 0; steps -= 1) {
      const made = Array.from({ length: 1 + roll(3) }, () => {
        calls += 1;
        const path = PATHS[roll(PATHS.length)];
        const [name, args] = [["bash", { command: `cargo test -- ${prose(4)}` }], ["read", { path }], ["edit", { path, edits: [{ oldText: prose(9), newText: prose(9) }] }]][roll(3)];
        return { type: "toolCall", id: `call_${calls}`, name, arguments: args };
      });
      says([{ type: "thinking", thinking: prose(40) }, text(15), ...made], "toolUse");
      for (const { id, name } of made) {
        const from = roll(sheet.length - 2 * output);
        const content = [{ type: "text", text: sheet.slice(from, from + roll(2 * output)) }];
        message({ role: "toolResult", toolCallId: id, toolName: name, content, details: {}, isError: roll(9) === 0 });
      }
    }
    says([text(60)], "stop");
    if (roll(20) === 0) {
      const back = leaf;
      message({ role: "user", content: [text(12)] });
      says([text(20)], "stop");
      leaf = back;
    }
  };
  for (let part = 1; part <= compactions + 1; part += 1) {
    while (written < (megabytes * 1_000_000 * part) / (compactions + 1)) turn();
    flush();
    if (part > compactions) break;
    // What was said since the last request stays as it is.
    const args = ["compact", file, "--leaf", leaf, "--first-kept", lastUser, "--json"];
    const made = execFileSync(binary, args, { maxBuffer: 1 << 30, stdio: ["ignore", "pipe", "ignore"] });
    entry("compaction", { ...JSON.parse(made), fromHook: true });
  }
  flush();
  return count;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [file, megabytes = "100", compactions = "8"] = process.argv.slice(2);
  const binary = process.env.PI_STET_BIN ?? "pi-stet";
  const count = writeLongSession(file, { megabytes: Number(megabytes), compactions: Number(compactions), binary });
  console.log(`${file}: ${count} entries`);
}
