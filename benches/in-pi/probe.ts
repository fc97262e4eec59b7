// Loaded before and after the extension that is measured: what its handlers of an event take
// lies between the two. Pi calls handlers in the order in which extensions were loaded.
//
//   PROBE_LOG              file that gets a line for each event: { event, ms, blockMs }
//                            ms       from the first probe's handler to the second's
//                            blockMs  the longest time between two ticks of the event loop meanwhile
//   /probe cancel on|off   whether the second probe cancels compactions, so that the same one
//                          can be measured again
import { appendFileSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

const EVENTS = ["session_before_compact", "session_compact", "session_compact_failed", "before_agent_start", "context_with_system"];

type Handler = (event: { toolName?: string }) => unknown;

/** Longer than a tick of the monitor, which is a timer of one millisecond. */
const rest = () => new Promise((resolve) => setTimeout(resolve, 5));

interface Shared {
  monitor: ReturnType<typeof monitorEventLoopDelay>;
  started: number;
  cancels: boolean;
}

/** Both probes run in one process; Pi loads this file once for each of them. */
const shared: Shared = ((globalThis as { stetProbe?: Shared }).stetProbe ??= {
  monitor: monitorEventLoopDelay({ resolution: 1 }),
  started: 0,
  cancels: false,
});

async function begin(): Promise<void> {
  // What Pi did just before is behind us then. The first tick after a reset is only a beginning.
  shared.monitor.enable();
  await rest();
  shared.monitor.reset();
  await rest();
  shared.started = performance.now();
}

async function end(event: string): Promise<void> {
  const ms = performance.now() - shared.started;
  // A block that is not over until now is seen at the next tick.
  await rest();
  const blockMs = shared.monitor.max / 1e6;
  shared.monitor.disable();
  appendFileSync(process.env.PROBE_LOG!, `${JSON.stringify({ event, ms, blockMs })}\n`);
}

export function first(pi: ExtensionAPI): void {
  const on = pi.on as unknown as (event: string, handler: Handler) => void;
  for (const event of [...EVENTS, "tool_call"]) on.call(pi, event, begin);
  pi.registerCommand("probe", {
    description: "Cancel compactions after they were measured: cancel on or cancel off",
    handler: async (args) => {
      shared.cancels = args.trim() === "cancel on";
    },
  });
}

export function second(pi: ExtensionAPI): void {
  const on = pi.on as unknown as (event: string, handler: Handler) => void;
  for (const event of EVENTS) {
    on.call(pi, event, async () => {
      await end(event);
      return event === "session_before_compact" && shared.cancels ? { cancel: true } : undefined;
    });
  }
  on.call(pi, "tool_result", ({ toolName }) => end(`tool ${toolName}`));
}
