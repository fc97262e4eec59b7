// One step: an envelope, one run of the binary, a reply.
import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import type { ChildResult } from "./child.js";
import { buildEnvelope, type Progress, type Request, sessionByReference, sessionInline } from "./envelope.ts";
import type { Host } from "./host.ts";
import type { Failure, Reply, SessionRef } from "./protocol.ts";
import { readReply } from "./reply.ts";

export type StepOutcome = { reply: Reply } | { failure: Failure } | "aborted";

export async function invoke(
  host: Host,
  ctx: ExtensionContext,
  request: Request & { label: string; timeoutMs: number },
  progress: Progress,
  signal: AbortSignal,
): Promise<StepOutcome> {
  if (!request.session) return run(host, ctx, request, progress, signal, undefined);
  const session = sessionByReference(ctx);
  const outcome = await run(host, ctx, request, progress, signal, session);
  // The file is not what Pi has in memory (moved, replaced, cut): hand over the memory, once.
  if (isStale(outcome) && "file" in session && !signal.aborted) {
    return run(host, ctx, request, progress, signal, sessionInline(ctx));
  }
  return outcome;
}

async function run(
  host: Host,
  ctx: ExtensionContext,
  request: Request & { label: string; timeoutMs: number },
  progress: Progress,
  signal: AbortSignal,
  session: SessionRef | undefined,
): Promise<StepOutcome> {
  const envelope = buildEnvelope(host, ctx, request, progress, session);
  const inline = host.recorder && session ? sessionInline(ctx) : undefined;
  const input = JSON.stringify(envelope);
  const started = performance.now();
  const result = await host.launcher.run({
    binary: host.binary,
    args: ["hook"],
    input,
    timeoutMs: request.timeoutMs,
    maxStdoutBytes: host.manifest.limits.replyBytes,
    signal,
  });
  const received = result.kind === "exited" ? result.stdout : "";
  const outcome = judge(result);
  host.log?.({
    event: request.label,
    ms: Math.round((performance.now() - started) * 10) / 10,
    sentBytes: Buffer.byteLength(input),
    receivedBytes: Buffer.byteLength(received),
    outcome: describe(outcome),
  });
  if (host.recorder && typeof outcome === "object" && "reply" in outcome && !isStale(outcome)) {
    try {
      await host.recorder.write(envelope, inline, outcome.reply, received);
    } catch (error) {
      if (!signal.aborted) host.notices.notRecorded(ctx, error instanceof Error ? error.message : String(error));
    }
  }
  return outcome;
}

function judge(result: ChildResult): StepOutcome {
  if (result.kind === "aborted") return "aborted";
  const reply = readReply(result);
  return "failure" in reply ? reply : { reply };
}

function isStale(outcome: StepOutcome): boolean {
  return typeof outcome === "object" && "reply" in outcome && outcome.reply.error?.code === "session-stale";
}

function describe(outcome: StepOutcome): string {
  if (outcome === "aborted") return "aborted";
  if ("failure" in outcome) return `failed:${outcome.failure.cause}`;
  const { reply } = outcome;
  if (reply.error) return `error:${reply.error.code}`;
  if (reply.ask) return "ask";
  if (reply.complete) return "complete";
  return reply.result === undefined ? "none" : "result";
}
