// One run of the binary: bytes in, bytes out, within bounds of time and size.
// Knows nothing of the protocol. Plain JavaScript, because the launcher's process
// runs it without Pi's loader.
import { constants } from "node:buffer";
import { spawn } from "node:child_process";
import { StringDecoder } from "node:string_decoder";

/**
 * @typedef {object} ChildCall
 * @property {string} binary
 * @property {string[]} args
 * @property {string} [input]
 * @property {string} [cwd]
 * @property {NodeJS.ProcessEnv} [env]
 * @property {number} timeoutMs
 * @property {number} maxStdoutBytes
 * @property {AbortSignal} [signal]
 * @property {(data: Uint8Array) => void} [onStdout] gets the output as it comes; the result then has none
 */

/**
 * @typedef {{ kind: "exited", status: number | null, killedBy: string | null, stdout: string, stderr: string }
 *   | { kind: "unstartable", code: string, message: string }
 *   | { kind: "timeout" }
 *   | { kind: "tooLarge" }
 *   | { kind: "aborted" }} ChildResult
 */

const MAX_STDERR_BYTES = 64 * 1024;
// How long pipes may stay open after the process has ended (something it
// started may still hold them), and how long a killed one may take to go.
const CLOSE_GRACE_MS = 500;
// setTimeout treats longer delays as 1 ms.
export const MAX_TIMER_MS = 2 ** 31 - 1;

/** @typedef {import("node:child_process").ChildProcess} ChildProcess */

/** @type {Set<ChildProcess>} */
const running = new Set();

// A group of its own keeps Ctrl+C in the terminal away from the child, so
// nobody but us ends it when Pi itself ends in the middle of a call.
function killAll() {
  for (const child of running) killGroup(child);
}

/** @param {ChildProcess} child */
function track(child) {
  if (running.size === 0) process.on("exit", killAll);
  running.add(child);
}

/** @param {ChildProcess} child */
function untrack(child) {
  running.delete(child);
  if (running.size === 0) process.removeListener("exit", killAll);
}

/** @param {ChildProcess} child */
function killGroup(child) {
  try {
    if (process.platform === "win32" || child.pid === undefined) child.kill("SIGKILL");
    else process.kill(-child.pid, "SIGKILL");
  } catch {
    // It is gone already.
  }
}

/**
 * @param {ChildCall} call
 * @returns {Promise<ChildResult>}
 */
export function runChild(call) {
  if (call.signal?.aborted) return Promise.resolve({ kind: "aborted" });
  return new Promise((resolve) => {
    /** @type {ChildProcess} */
    let child;
    try {
      child = spawn(call.binary, call.args, {
        stdio: ["pipe", "pipe", "pipe"],
        detached: process.platform !== "win32",
        windowsHide: true,
        cwd: call.cwd,
        env: call.env,
      });
    } catch (error) {
      // Some faults, such as an argument with a NUL byte, are thrown at once.
      resolve(unstartable(error));
      return;
    }
    track(child);

    const output = new Text();
    const diagnosis = new Text();
    const take = call.onStdout ?? ((data) => output.add(data));
    const stdout = new Bounded(Math.min(call.maxStdoutBytes, constants.MAX_STRING_LENGTH), take);
    const stderr = new Bounded(MAX_STDERR_BYTES, (data) => diagnosis.add(data));
    /** @type {ChildResult | undefined} */
    let verdict;
    /** @type {NodeJS.Timeout | undefined} */
    let grace;

    /** @param {ChildResult} result */
    const stop = (result) => {
      if (verdict) return;
      verdict = result;
      killGroup(child);
      grace ??= setTimeout(giveUpOnPipes, CLOSE_GRACE_MS);
    };
    const onAbort = () => stop({ kind: "aborted" });
    const timer = setTimeout(() => stop({ kind: "timeout" }), Math.min(call.timeoutMs, MAX_TIMER_MS));
    call.signal?.addEventListener("abort", onAbort, { once: true });

    /** @param {ChildResult} result */
    const settle = (result) => {
      clearTimeout(timer);
      clearTimeout(grace);
      call.signal?.removeEventListener("abort", onAbort);
      untrack(child);
      resolve(verdict ?? result);
    };
    /** @returns {ChildResult} */
    const ended = () => ({
      kind: "exited",
      status: child.exitCode,
      killedBy: child.signalCode,
      stdout: output.end(),
      stderr: diagnosis.end(),
    });
    const giveUpOnPipes = () => {
      killGroup(child);
      child.stdout?.destroy();
      child.stderr?.destroy();
      child.stdin?.destroy();
      settle(ended());
    };

    child.on("error", (error) => {
      if (child.pid === undefined) settle(unstartable(error));
    });
    child.on("exit", () => {
      grace ??= setTimeout(giveUpOnPipes, CLOSE_GRACE_MS);
    });
    child.on("close", () => settle(ended()));
    child.stdout?.on("data", (data) => {
      if (stdout.add(data)) return;
      output.clear();
      stop({ kind: "tooLarge" });
    });
    // What does not fit is read and dropped: a full pipe would stall the child.
    child.stderr?.on("data", (data) => stderr.add(data));
    // A child that answers or dies without reading everything closes the pipe
    // (EPIPE). Its reply or its end says what happened; this error does not.
    child.stdin?.on("error", () => {});
    // One buffer, written by libuv as fast as the child reads: back-pressure
    // costs neither copies nor time on the event loop.
    child.stdin?.end(call.input ?? "");
  });
}

/**
 * @param {unknown} error
 * @returns {ChildResult}
 */
function unstartable(error) {
  const code = /** @type {NodeJS.ErrnoException} */ (error).code ?? "UNKNOWN";
  return { kind: "unstartable", code, message: error instanceof Error ? error.message : String(error) };
}

/** Output up to a number of bytes. */
class Bounded {
  #bytes = 0;
  #limit;
  #take;

  /**
   * @param {number} limit
   * @param {(data: Uint8Array) => void} take
   */
  constructor(limit, take) {
    this.#limit = limit;
    this.#take = take;
  }

  /**
   * Takes the data, unless it does not fit as a whole.
   * @param {Buffer} data
   */
  add(data) {
    if (this.#bytes + data.length > this.#limit) return false;
    this.#bytes += data.length;
    this.#take(data);
    return true;
  }
}

/** Text that comes in parts. Decoded as it comes: a long reply at once would block the event loop. */
export class Text {
  #decoder = new StringDecoder("utf8");
  /** @type {string[]} */
  #parts = [];

  /** @param {Uint8Array} data */
  add(data) {
    this.#parts.push(this.#decoder.write(data));
  }

  clear() {
    this.#parts = [];
  }

  /** All of it; nothing may follow. */
  end() {
    return this.#parts.join("") + this.#decoder.end();
  }
}
