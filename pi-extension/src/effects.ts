// What a reply asks for besides its result, carried out in its order.
import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import type { Host } from "./host.ts";
import { notify } from "./notices.ts";
import { showPanel } from "./panel.ts";
import type { Effect } from "./protocol.ts";

/** With `late`, notices wait until the compaction has been drawn. */
export function applyEffects(host: Host, ctx: ExtensionContext, effects: readonly Effect[], late = false): void {
  for (const effect of effects) {
    try {
      if (late && effect.type === "notify") host.lateNotices.hold(() => apply(host, ctx, effect));
      else apply(host, ctx, effect);
    } catch (error) {
      // One effect that Pi refuses must cost neither the others nor the result.
      const text = error instanceof Error ? error.message : String(error);
      host.notices.effectFailed(ctx, effect.type, text);
    }
  }
}

function apply(host: Host, ctx: ExtensionContext, effect: Effect): void {
  switch (effect.type) {
    case "notify":
      if (effect.panel && showPanel(ctx, effect.panel, host.lifetime)) return;
      return notify(ctx, effect.level ?? "info", effect.message);
    case "appendEntry":
      return host.pi.appendEntry(effect.customType, effect.data);
    case "sendMessage":
      return sendMessage(host, effect);
    case "setActive":
      return host.active.change(ctx, effect);
    case "setStatus":
      return ctx.ui.setStatus(effect.key, effect.text ?? undefined);
    case "describeCommand":
      return host.descriptions.set(ctx, effect.command, effect.text);
    default:
      return host.notices.unknownToHost(ctx, `the effect ${(effect as { type: string }).type}`);
  }
}

type SentMessage = Parameters<Host["pi"]["sendMessage"]>[0];

function sendMessage({ pi }: Host, effect: Effect & { type: "sendMessage" }): void {
  const { message, deliverAs, triggerTurn } = effect;
  pi.sendMessage({ ...message, display: message.display ?? false } as SentMessage, {
    // Pi takes an absent triggerTurn and `false` for different things during a run.
    ...(deliverAs === undefined ? {} : { deliverAs }),
    ...(triggerTurn === undefined ? {} : { triggerTurn }),
  });
}
