// The events a manifest can ask for: what of each goes into the envelope, and
// what of the binary's result Pi gets back.
import type {
  BeforeAgentStartEvent,
  ContextWithSystemEvent,
  ExtensionContext,
  SessionBeforeCompactEvent,
  SessionCompactFailedEvent,
  SessionStartEvent,
  SessionTreeEvent,
  TurnEndEvent,
} from "@earendil-works/pi-coding-agent";
import type { CompactionHook } from "./compaction.ts";
import { guarded } from "./guard.ts";
import type { Host } from "./host.ts";
import { subscribe, type Unsubscribe } from "./pi-compat.ts";
import type { CustomMessageSpec, HookSpec } from "./protocol.ts";
import { runCall } from "./steps.ts";
import { rearrange, skeletons } from "./transcript.ts";

type Handler = (event: any, ctx: ExtensionContext, spec: HookSpec) => unknown;

export class Hooks {
  /** What the last session_compact was, filled in before any hook of the binary sees it. */
  saved: ReturnType<CompactionHook["saved"]> | undefined;
  private readonly host: Host;
  private readonly handlers: Record<string, Handler>;

  constructor(host: Host, compaction: CompactionHook) {
    this.host = host;
    this.handlers = {
      session_start: (event: SessionStartEvent, ctx, spec) => this.effectsOnly(ctx, spec, { reason: event.reason }),
      session_tree: (event: SessionTreeEvent, ctx, spec) =>
        this.effectsOnly(ctx, spec, { newLeafId: event.newLeafId }),
      session_before_compact: (event: SessionBeforeCompactEvent, ctx, spec) => compaction.before(event, ctx, spec),
      session_compact: (event, ctx, spec) => {
        const { fromExtension, reason, willRetry } = event;
        return this.effectsOnly(ctx, spec, { ...this.saved, fromExtension, reason, willRetry });
      },
      session_compact_failed: ({ reason, aborted, errorMessage }: SessionCompactFailedEvent, ctx, spec) =>
        this.effectsOnly(ctx, spec, { reason, aborted, errorMessage }),
      turn_end: (event: TurnEndEvent, ctx, spec) => {
        const { turnIndex, messageEntryId, toolResultEntryIds, outcome } = event;
        return this.effectsOnly(ctx, spec, { turnIndex, messageEntryId, toolResultEntryIds, outcome });
      },
      before_agent_start: (event, ctx, spec) => this.beforeAgentStart(event, ctx, spec),
      context_with_system: (event, ctx, spec) => this.contextWithSystem(event, ctx, spec),
    };
  }

  subscribe(name: string): Unsubscribe | undefined {
    const spec = this.host.manifest.hooks.find((hook) => hook.event === name);
    const handler = this.handlers[name];
    if (!spec || !handler || !(spec.when === undefined || spec.when === "compacted")) return undefined;
    return subscribe(this.host.pi, name, (event, ctx) =>
      guarded(this.host, ctx, () => {
        if (spec.when === "compacted" && !this.host.branch.compacted.holds(ctx.sessionManager)) return undefined;
        return handler(event, ctx, spec);
      }),
    );
  }

  private async effectsOnly(ctx: ExtensionContext, spec: HookSpec, payload: unknown): Promise<undefined> {
    await this.call(ctx, spec, payload);
  }

  private async beforeAgentStart(event: BeforeAgentStartEvent, ctx: ExtensionContext, spec: HookSpec) {
    const result = await this.call(ctx, spec, { messageType: event.messageType ?? "user" });
    const message = (result as { message?: CustomMessageSpec } | undefined)?.message;
    return message && { message: { ...message, display: message.display ?? false } };
  }

  private async contextWithSystem(event: ContextWithSystemEvent, ctx: ExtensionContext, spec: HookSpec) {
    const messages = event.messages as Parameters<typeof skeletons>[0];
    const result = await this.call(ctx, spec, { messages: skeletons(messages, this.host.manifest) });
    if (result === undefined) return undefined;
    const next = rearrange(messages, result);
    if (!next || "messages" in next) return next;
    this.host.notices.failed(ctx, spec.event, next.failure, "Pi goes on without it.");
    return undefined;
  }

  /** The binary's result. Without one, of whatever reason, Pi gets no answer from us. */
  private async call(ctx: ExtensionContext, spec: HookSpec, payload: unknown): Promise<unknown> {
    const { event, session, timeoutMs } = spec;
    const outcome = await runCall(this.host, ctx, { event, label: event, session, timeoutMs, payload, prompt: false });
    if (outcome === "aborted" || outcome === "none") return undefined;
    if ("result" in outcome) return outcome.result;
    this.host.notices.failed(ctx, event, outcome.failure, "Pi goes on without it.");
    return undefined;
  }
}
