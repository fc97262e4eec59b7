// Pi's terminal interface, driven by keys. Python's pty module makes the terminal.
//
//   const terminal = startPiTerminal(ws, { extensions: [...] });
//   await terminal.shows("some text");
//   terminal.type("/compact");
//   terminal.press("enter");
//   await terminal.close();
import { spawn } from "node:child_process";
import { stripVTControlCharacters } from "node:util";
import { NODE_BIN, piArguments, within } from "./harness.mjs";

const KEYS = { enter: "\r", escape: "\x1b", down: "\x1b[B", clear: "\x15" };
const IN_A_TERMINAL = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))";

export function startPiTerminal(ws, { extensions = [], args = [], env = {}, timeoutMs = 30000 } = {}) {
  const pi = [NODE_BIN, ...piArguments([], { extensions, args })];
  const sized = ["sh", "-c", 'stty rows 50 cols 160; exec "$@"', "sh", ...pi];
  const child = spawn("python3", ["-c", IN_A_TERMINAL, ...sized], {
    cwd: ws.cwd,
    env: { ...ws.env, TERM: "xterm-256color", ...env },
    stdio: ["pipe", "pipe", "pipe"],
  });
  const exit = new Promise((resolve) => child.on("exit", resolve));
  let output = "";
  let changed = () => {};
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8");
    stream.on("data", (data) => {
      output += data;
      changed();
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

  return { shows, drawn, type: write, press: (key) => write(KEYS[key]), close };
}
