// Long sessions from a seed, straight into a file: the same seed gives the same bytes.
import { closeSync, openSync, writeSync } from "node:fs";
import { SessionText, text } from "./session-text.mjs";

const WORDS =
  "the a to of parser cache thread value error build test index queue lock path schema module worker token branch buffer commit retry socket schön 日志 🙂 —".split(" ");
const FILES = ["src/lib.rs", "src/parser/mod.rs", "README.md", "tests/parser.rs", "docs/a b.md", "Cargo.toml"];
const CHUNK = 4 << 20;

/** Mulberry32: enough for made-up text. */
function dice(seed) {
  let state = seed >>> 0;
  return (end) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let z = Math.imul(state ^ (state >>> 15), state | 1);
    z ^= z + Math.imul(z ^ (z >>> 7), z | 61);
    return Math.floor((((z ^ (z >>> 14)) >>> 0) / 2 ** 32) * end);
  };
}

class LongSession extends SessionText {
  constructor(fd, { cwd, seed = 1, output = 6000 }) {
    super({ cwd });
    this.fd = fd;
    this.output = output;
    this.roll = dice(seed);
    this.bytes = 0;
    this.said = [];
    // Made once: text of this size costs more to make up than to write.
    this.outputs = Array.from({ length: 40 }, () => this.lines(1 + this.roll(2 * output)));
  }

  line(value) {
    super.line(value);
    if (this.text.length >= CHUNK) this.flush();
  }

  flush() {
    this.bytes += writeSync(this.fd, this.text);
    this.text = "";
  }

  get size() {
    return this.bytes + this.text.length;
  }

  words(count) {
    return Array.from({ length: count }, () => WORDS[this.roll(WORDS.length)]).join(" ");
  }

  lines(characters) {
    const lines = [];
    for (let size = 0; size < characters; size += lines.at(-1).length) lines.push(`${lines.length}: ${this.words(3 + this.roll(12))}`);
    return lines.join("\n");
  }

  turn() {
    const said = `Request ${this.said.length + 1}: ${this.words(10 + this.roll(40))}`;
    this.said.push(said);
    this.user(said);
    for (let step = this.roll(6); step >= 0; step -= 1) this.step();
    this.assistant(text(`Done: ${this.words(20 + this.roll(40))}`));
  }

  step() {
    const id = `call_${this.count}`;
    const path = FILES[this.roll(FILES.length)];
    const [name, args] = [
      ["read", { path }],
      ["bash", { command: `cargo test -- ${this.words(3)}` }],
      ["edit", { path, edits: [{ oldText: this.words(12), newText: this.words(14) }] }],
    ][this.roll(3)];
    const thinking = { type: "thinking", thinking: this.words(60) };
    this.assistant(thinking, text(this.words(15)), { type: "toolCall", id, name, arguments: args });
    this.result(id, name, this.outputs[this.roll(this.outputs.length)], { isError: this.roll(9) === 0 });
  }
}

/**
 * Writes a session file.
 *   cwd      of the session
 *   entries  how many it has at least, or
 *   bytes    how many it takes at least
 *   output   characters of a tool's output, on average
 *   seed     another one gives another session
 *   compactions, compact  that many, spread evenly up to the last MB; what compact(file) gives
 *                         stands in each: { summary, firstKeptEntryId, tokensBefore, details }
 * Gives { said, entries, bytes }: the person's texts, how many lines and bytes there are.
 */
export function writeLongSession(file, { entries = 0, bytes = 0, compactions = 0, compact, ...shape }) {
  const fd = openSync(file, "wx", 0o600);
  try {
    const session = new LongSession(fd, shape);
    for (let n = 1; n <= compactions; n += 1) {
      while (session.size < ((bytes - 1e6) * n) / compactions) session.turn();
      session.flush();
      session.entry({ type: "compaction", ...compact(file), fromHook: true });
      if (n === compactions) bytes = Math.max(bytes, session.size + 1e6);
    }
    while (session.count < entries || session.size < bytes) session.turn();
    session.flush();
    return { said: session.said, entries: session.count, bytes: session.bytes };
  } finally {
    closeSync(fd);
  }
}
