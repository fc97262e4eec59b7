// A question of the binary to the person at Pi.
import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import type { Answer, Ask } from "./protocol.ts";
import { untilAborted } from "./until-aborted.ts";

export async function ask(ctx: ExtensionContext, request: Ask, signal: AbortSignal): Promise<Answer> {
  // Without a UI Pi's dialogs answer at once as if they had been dismissed.
  if (!ctx.hasUI) return { cancelled: true };
  const late = new AbortController();
  // Our own clock: a dialog that Pi's timer closes looks like one a person
  // dismissed. It is set before the dialog's, so it also runs out before it.
  const timer = setTimeout(() => late.abort(), request.timeoutMs);
  const either = AbortSignal.any([signal, late.signal]);
  try {
    const dialog = show(ctx, request, { signal: either, timeout: request.timeoutMs });
    const value = await untilAborted(either, dialog);
    if (late.signal.aborted) return { timedOut: true };
    return value === undefined ? { cancelled: true } : { value };
  } finally {
    clearTimeout(timer);
  }
}

type DialogOptions = { signal: AbortSignal; timeout: number };

function show(ctx: ExtensionContext, request: Ask, options: DialogOptions): Promise<string | boolean | undefined> {
  const { title, message } = request;
  // select and input have no place for a message; their titles may have several lines.
  const heading = message ? `${title}\n${message}` : title;
  switch (request.kind) {
    case "select":
      return ctx.ui.select(heading, request.options ?? [], options);
    case "confirm":
      // Pi does not tell "no" from Escape: both are `false`.
      return ctx.ui.confirm(title, message ?? "", options);
    case "input":
      return ctx.ui.input(heading, undefined, options);
    default:
      throw new Error(`unknown kind of ask: ${request.kind}`);
  }
}
