// Pi's terminal draws the whole conversation anew when a compaction has been
// saved, and with that wipes every notice given in its course. Those wait here.
import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import type { Reply } from "./protocol.ts";

/** Pi draws right after the last handler of session_compact; other extensions may have one too. */
const DRAWN_MS = 100;

export class LateNotices {
  private held: (() => void)[] = [];
  private readonly lifetime: AbortSignal;

  constructor(lifetime: AbortSignal) {
    this.lifetime = lifetime;
  }

  /** Whether the notices of this reply would be wiped. */
  static concern(ctx: ExtensionContext, event: string, reply: Reply): boolean {
    if (ctx.mode !== "tui") return false;
    const result = reply.result as { compaction?: unknown } | undefined;
    return event === "session_compact" || (event === "session_before_compact" && result?.compaction !== undefined);
  }

  hold(show: () => void): void {
    this.held.push(show);
  }

  /** The compaction has come to its end, whatever that was. */
  release(): void {
    const shows = this.held.splice(0);
    if (shows.length === 0) return;
    setTimeout(() => {
      // From the session's end on every `ctx` is stale.
      if (!this.lifetime.aborted) for (const show of shows) show();
    }, DRAWN_MS);
  }
}
