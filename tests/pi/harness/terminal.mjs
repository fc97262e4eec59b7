// Pi's terminal interface, driven by keys. Python's pty module makes the terminal, xterm its screen.
//
//   const terminal = startPiTerminal(ws, { extensions: [...] });
//   await terminal.shows("some text");
//   await terminal.screenShows(/^ some line$/m);
//   terminal.type("/compact");
//   terminal.press("enter");
//   await terminal.close();
import { spawn } from "node:child_process";
import { stripVTControlCharacters } from "node:util";
import { createRequire } from "node:module";
import { join } from "node:path";
import { NODE_BIN, piArguments, REPO_DIR, within } from "./harness.mjs";

const { Terminal } = createRequire(join(REPO_DIR, "pi-extension", "package.json"))("@xterm/headless");


const KEYS = { enter: "\r", escape: "\x1b", down: "\x1b[B", clear: "\x15", expand: "\x0f" };
const IN_A_TERMINAL = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))";

export function startPiTerminal(ws, { extensions = [], args = [], env = {}, timeoutMs = 30000, rows = 50, columns = 160 } = {}) {
  const pi = [NODE_BIN, ...piArguments([], { extensions, args })];
  const sized = ["sh", "-c", `stty rows ${rows} cols ${columns}; exec "$@"`, "sh", ...pi];
  const child = spawn("python3", ["-c", IN_A_TERMINAL, ...sized], {
    cwd: ws.cwd,
    env: { ...ws.env, TERM: "xterm-256color", ...env },
    stdio: ["pipe", "pipe", "pipe"],
  });
  const exit = new Promise((resolve) => child.on("exit", resolve));
  const screen = new Terminal({ rows, cols: columns, allowProposedApi: true });
  let output = "";
  let changed = () => {};
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8");
    stream.on("data", (data) => {
      output += data;
      screen.write(data, () => changed());
    });
  }
  child.stdin.on("error", () => {});

  /** Everything drawn since the last key, without what controls the terminal. */
  const drawn = () => stripVTControlCharacters(output);

  /** Waits until a text was drawn since the last key. */
  function shows(text) {
    const found = new Promise((resolve) => {
      changed = () => drawn().includes(text) && resolve();
      changed();
    });
    return within(timeoutMs, found, () => `the terminal does not show "${text}"; it drew: ${drawn().slice(-3000)}`);
  }

  /** What stands on the screen now, without the spaces at the ends of its lines. */
  function screenText() {
    const { active } = screen.buffer;
    const line = (at) => active.getLine(active.baseY + at).translateToString(true);
    return Array.from({ length: rows }, (_, at) => line(at).trimEnd()).join("\n");
  }

  /** Waits until the screen fits the pattern, and gives it. */
  function screenShows(pattern) {
    const found = new Promise((resolve) => {
      changed = () => pattern.test(screenText()) && resolve(screenText());
      changed();
    });
    return within(timeoutMs, found, () => `the screen does not show ${pattern}:\n${screenText()}`);
  }

  function write(text) {
    output = "";
    child.stdin.write(text);
  }

  async function close() {
    child.stdin.end();
    child.kill("SIGHUP");
    const timer = setTimeout(() => child.kill("SIGKILL"), 5000);
    await exit;
    clearTimeout(timer);
  }

  return { shows, drawn, screenShows, type: write, press: (key) => write(KEYS[key]), close };
}
