// A call from its first step to its end: asks and completions are carried out
// here, between one run of the binary and the next.
import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import { ask } from "./ask.ts";
import { complete } from "./complete.ts";
import { applyEffects } from "./effects.ts";
import type { Progress, Request } from "./envelope.ts";
import type { Host } from "./host.ts";
import { invoke } from "./invoke.ts";
import { LateNotices } from "./late-notices.ts";
import type { Failure, Reply } from "./protocol.ts";
import { WorkingMessage } from "./working-message.ts";

export interface Call extends Request {
  /** For the log: the event, and the tool or command. */
  label: string;
  timeoutMs: number;
  /** What ends the call early: Pi's signal for this event, if it has one. */
  signal?: AbortSignal;
  /** Where progress is shown besides Pi's working message. */
  onProgress?: (text: string) => void;
}

export type Outcome = { result: unknown } | { failure: Failure } | "none" | "aborted";

/** For replies that do not say how many steps are left. */
const MAX_STEPS = 200;

export async function runCall(
  host: Host,
  ctx: ExtensionContext,
  call: Call,
  clock: WaitClock = new WaitClock(),
): Promise<Outcome> {
  const signals = [host.lifetime, call.signal, ctx.signal].filter((signal) => signal !== undefined);
  const signal = AbortSignal.any(signals);
  const working = new WorkingMessage(ctx);
  const onProgress = (text: string) => {
    working.show(text);
    call.onProgress?.(text);
  };
  try {
    return await run(host, ctx, { ...call, onProgress }, signal, clock);
  } catch (error) {
    // `pi` and `ctx` throw once the session has been replaced: that is an end, not a fault.
    if (signal.aborted) return "aborted";
    const text = error instanceof Error ? error.message : String(error);
    return { failure: { cause: "host", text: `the extension failed: ${text}` } };
  } finally {
    working.clear();
  }
}

async function run(
  host: Host,
  ctx: ExtensionContext,
  call: Call & { onProgress: (text: string) => void },
  signal: AbortSignal,
  clock: WaitClock,
): Promise<Outcome> {
  const progress: Progress = {};
  let stepsLeft = MAX_STEPS;
  for (;;) {
    const step = await invoke(host, ctx, call, progress, signal);
    if (signal.aborted || step === "aborted") return "aborted";
    if ("failure" in step) return step;
    const { reply } = step;
    applyEffects(host, ctx, reply.effects ?? [], LateNotices.concern(ctx, call.event, reply));
    if (reply.error) return { failure: failureOf(reply.error) };
    if (!reply.ask && !reply.complete) return isObject(reply.result) ? { result: reply.result } : "none";

    stepsLeft = Math.min(stepsLeft, reply.stepsLeft ?? stepsLeft);
    if (stepsLeft <= 0) return { failure: { cause: "steps", text: "it wanted more steps than it had announced" } };
    stepsLeft -= 1;
    if (reply.progress) call.onProgress(reply.progress);
    await carryOut(ctx, reply, progress, signal, clock);
    if (signal.aborted) return "aborted";
  }
}

async function carryOut(
  ctx: ExtensionContext,
  reply: Reply,
  progress: Progress,
  signal: AbortSignal,
  clock: WaitClock,
): Promise<void> {
  progress.state = reply.state;
  progress.completion = undefined;
  if (reply.ask) {
    const request = reply.ask;
    const answer = await clock.wait(() => ask(ctx, request, signal));
    progress.answers = { ...progress.answers, [request.id]: answer };
  } else if (reply.complete) {
    progress.completion = await complete(ctx, reply.complete, signal);
  }
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function failureOf({ code, message, hint }: NonNullable<Reply["error"]>): Failure {
  return { cause: `error:${code}`, text: hint ? `${message} (${hint})` : message };
}

/** Time spent waiting for a person, which is no time of ours. */
export class WaitClock {
  waitedMs = 0;

  async wait<T>(during: () => Promise<T>): Promise<T> {
    const started = performance.now();
    try {
      return await during();
    } finally {
      this.waitedMs += performance.now() - started;
    }
  }
}
