// The compaction hook: what Pi gets for the binary's answer, and whether the
// compaction that Pi then saves is the one we gave.
import type {
  ExtensionContext,
  SessionBeforeCompactEvent,
  SessionBeforeCompactResult,
  SessionCompactEvent,
} from "@earendil-works/pi-coding-agent";
import { latestCompaction } from "./branch.ts";
import type { Host } from "./host.ts";
import type { Cut, Failure, HookSpec } from "./protocol.ts";
import { type Call, type Outcome, runCall, WaitClock } from "./steps.ts";

interface Given {
  summary: string;
  elapsedMs: number;
}

export class CompactionHook {
  private readonly host: Host;
  private given: Given | undefined;

  constructor(host: Host) {
    this.host = host;
  }

  async before(
    event: SessionBeforeCompactEvent,
    ctx: ExtensionContext,
    spec: HookSpec,
  ): Promise<SessionBeforeCompactResult | undefined> {
    this.given = undefined;
    const started = performance.now();
    const clock = new WaitClock();
    const outcome = accepted(ctx, await runCall(this.host, ctx, callOf(event, spec), clock));
    // A person ended it. Pi would call its summariser before it looks at the signal.
    if (outcome === "aborted") return { cancel: true };
    if (outcome === "none") return undefined;
    if ("failure" in outcome) return this.withoutAnswer(ctx, outcome.failure);
    const result = outcome.result as SessionBeforeCompactResult;
    if (result.compaction) {
      const elapsedMs = Math.round(performance.now() - started - clock.waitedMs);
      this.given = { summary: result.compaction.summary, elapsedMs };
    }
    return result;
  }

  /** Whether we had an answer to the compaction that has just been saved. */
  saved(event: SessionCompactEvent, ctx: ExtensionContext): { compactionId: string; answered: boolean; elapsedMs: number } {
    // Pi finds event.compactionEntry by its text, which can be an older entry's text too.
    const entry = latestCompaction(ctx.sessionManager) ?? event.compactionEntry;
    const given = this.given;
    this.given = undefined;
    if (given && entry.summary !== given.summary) this.host.notices.replaced(ctx);
    return { compactionId: entry.id, answered: given !== undefined, elapsedMs: given?.elapsedMs ?? 0 };
  }

  failed(): void {
    this.given = undefined;
  }

  private withoutAnswer(ctx: ExtensionContext, failure: Failure): SessionBeforeCompactResult | undefined {
    const cancel = this.host.cancelOnFailure;
    const consequence = cancel
      ? "The compaction is cancelled, as PI_STET_ON_FAILURE says."
      : "Pi makes its own compaction.";
    this.host.notices.failed(ctx, "session_before_compact", failure, consequence);
    return cancel ? { cancel: true } : undefined;
  }
}

function callOf(event: SessionBeforeCompactEvent, spec: HookSpec): Call {
  const { firstKeptEntryId, isSplitTurn, tokensBefore, settings } = event.preparation;
  const { reason, willRetry, customInstructions } = event;
  const cut: Cut = { firstKeptEntryId, isSplitTurn, tokensBefore };
  return {
    event: spec.event,
    label: spec.event,
    session: spec.session,
    timeoutMs: spec.timeoutMs,
    payload: { reason, willRetry, customInstructions },
    prompt: true,
    cut,
    compaction: { reserveTokens: settings.reserveTokens, keepRecentTokens: settings.keepRecentTokens },
    signal: event.signal,
  };
}

/** Pi checks nothing of a compaction: an id it does not know would silently keep nothing. */
function accepted(ctx: ExtensionContext, outcome: Outcome): Outcome {
  if (typeof outcome === "string" || "failure" in outcome) return outcome;
  const { cancel, compaction } = outcome.result as SessionBeforeCompactResult;
  if (cancel === true) return { result: { cancel: true } };
  if (!compaction) return "none";
  const { summary, firstKeptEntryId: kept, tokensBefore } = compaction;
  if (typeof summary !== "string" || summary === "" || typeof tokensBefore !== "number") {
    return { failure: { cause: "result", text: "its compaction is incomplete" } };
  }
  // `null` keeps nothing, and is how that is said; Pi's type does not have it.
  if (kept !== null && !ctx.sessionManager.getEntry(kept)) {
    return { failure: { cause: "result", text: `its compaction keeps from entry ${kept}, which does not exist` } };
  }
  return { result: { compaction } };
}
