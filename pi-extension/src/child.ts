// One run of the binary: bytes in, bytes out, within bounds of time and size.
// Knows nothing of the protocol.
import { constants } from "node:buffer";
import { type ChildProcess, spawn } from "node:child_process";
import { StringDecoder } from "node:string_decoder";

export interface ChildCall {
  binary: string;
  args: string[];
  input?: string;
  timeoutMs: number;
  maxStdoutBytes: number;
  signal?: AbortSignal;
}

export type ChildResult =
  | { kind: "exited"; status: number | null; killedBy: string | null; stdout: string; stderr: string }
  | { kind: "unstartable"; code: string; message: string }
  | { kind: "timeout" }
  | { kind: "tooLarge" }
  | { kind: "aborted" };

const MAX_STDERR_BYTES = 64 * 1024;
// How long pipes may stay open after the process has ended (something it
// started may still hold them), and how long a killed one may take to go.
const CLOSE_GRACE_MS = 500;
// setTimeout treats longer delays as 1 ms.
const MAX_TIMER_MS = 2 ** 31 - 1;

const running = new Set<ChildProcess>();

// A group of its own keeps Ctrl+C in the terminal away from the child, so
// nobody but us ends it when Pi itself ends in the middle of a call.
function killAll(): void {
  for (const child of running) killGroup(child);
}

function track(child: ChildProcess): void {
  if (running.size === 0) process.on("exit", killAll);
  running.add(child);
}

function untrack(child: ChildProcess): void {
  running.delete(child);
  if (running.size === 0) process.removeListener("exit", killAll);
}

function killGroup(child: ChildProcess): void {
  try {
    if (process.platform === "win32" || child.pid === undefined) child.kill("SIGKILL");
    else process.kill(-child.pid, "SIGKILL");
  } catch {
    // It is gone already.
  }
}

export function runChild(call: ChildCall): Promise<ChildResult> {
  if (call.signal?.aborted) return Promise.resolve({ kind: "aborted" });
  return new Promise((resolve) => {
    let child: ChildProcess;
    try {
      child = spawn(call.binary, call.args, {
        stdio: ["pipe", "pipe", "pipe"],
        detached: process.platform !== "win32",
        windowsHide: true,
      });
    } catch (error) {
      // Some faults, such as an argument with a NUL byte, are thrown at once.
      resolve(unstartable(error));
      return;
    }
    track(child);

    const stdout = new Bounded(Math.min(call.maxStdoutBytes, constants.MAX_STRING_LENGTH));
    const stderr = new Bounded(MAX_STDERR_BYTES);
    let verdict: ChildResult | undefined;
    let grace: NodeJS.Timeout | undefined;

    const stop = (result: ChildResult) => {
      if (verdict) return;
      verdict = result;
      killGroup(child);
      grace ??= setTimeout(giveUpOnPipes, CLOSE_GRACE_MS);
    };
    const onAbort = () => stop({ kind: "aborted" });
    const timer = setTimeout(() => stop({ kind: "timeout" }), Math.min(call.timeoutMs, MAX_TIMER_MS));
    call.signal?.addEventListener("abort", onAbort, { once: true });

    const settle = (result: ChildResult) => {
      clearTimeout(timer);
      clearTimeout(grace);
      call.signal?.removeEventListener("abort", onAbort);
      untrack(child);
      resolve(verdict ?? result);
    };
    const ended = (): ChildResult => ({
      kind: "exited",
      status: child.exitCode,
      killedBy: child.signalCode,
      stdout: stdout.text(),
      stderr: stderr.text(),
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
    child.stdout?.on("data", (data: Buffer) => {
      if (stdout.add(data)) return;
      stdout.clear();
      stop({ kind: "tooLarge" });
    });
    // What does not fit is read and dropped: a full pipe would stall the child.
    child.stderr?.on("data", (data: Buffer) => stderr.add(data));
    // A child that answers or dies without reading everything closes the pipe
    // (EPIPE). Its reply or its end says what happened; this error does not.
    child.stdin?.on("error", () => {});
    // One buffer, written by libuv as fast as the child reads: back-pressure
    // costs neither copies nor time on the event loop.
    child.stdin?.end(call.input ?? "");
  });
}

function unstartable(error: unknown): ChildResult {
  const code = (error as NodeJS.ErrnoException).code ?? "UNKNOWN";
  return { kind: "unstartable", code, message: error instanceof Error ? error.message : String(error) };
}

/** Text up to a number of bytes. Decoded as it comes: a long reply at once would block the event loop. */
class Bounded {
  private readonly decoder = new StringDecoder("utf8");
  private parts: string[] = [];
  private bytes = 0;
  private readonly limit: number;

  constructor(limit: number) {
    this.limit = limit;
  }

  /** Keeps the data, unless it does not fit as a whole. */
  add(data: Buffer): boolean {
    if (this.bytes + data.length > this.limit) return false;
    this.bytes += data.length;
    this.parts.push(this.decoder.write(data));
    return true;
  }

  clear(): void {
    this.parts = [];
  }

  text(): string {
    return this.parts.join("") + this.decoder.end();
  }
}
