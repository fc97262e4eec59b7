// Nothing of ours is ever thrown into Pi: most events would go on, but with an
// error record for a fault that is none of Pi's.
import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import type { Notices } from "./notices.ts";

export async function guarded<T>(
  host: { notices: Notices; lifetime: AbortSignal },
  ctx: ExtensionContext,
  work: () => T | Promise<T>,
): Promise<Awaited<T> | undefined> {
  try {
    return await work();
  } catch (error) {
    // After the session's end everything of Pi's throws, the notice included.
    if (!host.lifetime.aborted) host.notices.crashed(ctx, error instanceof Error ? error.message : String(error));
    return undefined;
  }
}
