// Runs of the binary from within a long-lived Pi: through a small process that starts
// them (launcher-process.js says why), and directly where there is none.
import { type ChildProcess, fork } from "node:child_process";
import { join } from "node:path";
import { type ChildCall, type ChildResult, MAX_TIMER_MS, runChild, Text } from "./child.js";
import type { News, Order } from "./launcher-process.js";

/** For the launcher to see by itself that a call has run out of time. */
const LATE_MS = 2000;

interface Pending {
  call: ChildCall;
  output: Text;
  settle(result: ChildResult | Promise<ChildResult>): void;
}

export class Launcher {
  private process: ChildProcess | undefined;
  private ready = false;
  private count = 0;
  private readonly pending = new Map<number, Pending>();

  /** Starts the process, where starting others from Pi itself is dear. Until it is there, calls run directly. */
  start(): void {
    // A compiled Pi is no Node that could run a script; elsewhere starting a process copies nothing.
    if (this.process || process.platform !== "linux" || process.versions.bun) return;
    const { NODE_OPTIONS: _, ...env } = process.env;
    const launcher = fork(join(import.meta.dirname, "launcher-process.js"), [], {
      env,
      execArgv: [],
      serialization: "advanced",
      stdio: ["ignore", "ignore", "ignore", "ipc"],
      // Ctrl+C in the terminal is for Pi alone.
      detached: true,
    });
    this.process = launcher;
    launcher.on("message", (news) => this.receive(news as News));
    launcher.on("error", () => this.lose());
    launcher.on("exit", () => this.lose());
    this.hold(false);
  }

  end(): void {
    const launcher = this.process;
    this.lose();
    if (launcher?.connected) launcher.disconnect();
  }

  run(call: ChildCall): Promise<ChildResult> {
    if (!this.ready || call.signal?.aborted) return runChild(call);
    const id = ++this.count;
    return new Promise((resolve) => {
      const onAbort = () => this.send({ id, abort: true });
      const timer = setTimeout(() => this.process?.kill("SIGKILL"), Math.min(call.timeoutMs + LATE_MS, MAX_TIMER_MS));
      const settle = (result: ChildResult | Promise<ChildResult>) => {
        clearTimeout(timer);
        call.signal?.removeEventListener("abort", onAbort);
        this.pending.delete(id);
        this.hold(this.pending.size > 0);
        resolve(result);
      };
      this.pending.set(id, { call, output: new Text(), settle });
      this.hold(true);
      call.signal?.addEventListener("abort", onAbort, { once: true });
      const { signal: _, ...rest } = call;
      this.send({ id, call: { cwd: process.cwd(), env: { ...process.env }, ...rest } });
    });
  }

  private send(order: Order): void {
    // An error here is followed by the end of the process, which is seen there.
    this.process?.send(order, () => {});
  }

  private receive(news: News): void {
    if ("ready" in news) {
      this.ready = this.process !== undefined;
      return;
    }
    const pending = this.pending.get(news.id);
    if (!pending) return;
    if ("data" in news) pending.output.add(news.data);
    // On a turn of its own: a long reply has just been received, and will be parsed next.
    else setImmediate(() => pending.settle(withOutput(news.result, pending.output)));
  }

  /** Calls that have no answer yet run again, directly: the binary keeps nothing between runs. */
  private lose(): void {
    this.ready = false;
    this.process = undefined;
    for (const { call, settle } of [...this.pending.values()]) settle(runChild(call));
  }

  /** Pi may end while the launcher waits for work, but not while we wait for it. */
  private hold(busy: boolean): void {
    const launcher = this.process;
    if (!launcher) return;
    if (busy) {
      launcher.ref();
      launcher.channel?.ref();
    } else {
      launcher.unref();
      launcher.channel?.unref();
    }
  }
}

function withOutput(result: ChildResult, output: Text): ChildResult {
  return result.kind === "exited" ? { ...result, stdout: output.end() } : result;
}
