// One request to a model on the binary's behalf, through Pi's own providers.
import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import type { Completion, CompleteRequest } from "./protocol.ts";
import { untilAborted } from "./until-aborted.ts";

type Registry = ExtensionContext["modelRegistry"];
type Model = NonNullable<ExtensionContext["model"]>;

export async function complete(
  ctx: ExtensionContext,
  request: CompleteRequest,
  signal: AbortSignal,
): Promise<Completion> {
  const model = request.model === undefined ? ctx.model : find(ctx.modelRegistry, request.model);
  if (!model) {
    return request.model === undefined
      ? failed("noModel", "no model is selected")
      : failed("unresolvedModel", `there is no model ${request.model}`);
  }
  const late = AbortSignal.timeout(request.timeoutMs);
  const either = AbortSignal.any([signal, late]);
  const { maxTokens, sessionId } = request;
  const work = ctx.modelRegistry.complete(model, contextOf(request), {
    signal: either,
    ...(maxTokens === undefined ? {} : { maxTokens }),
    ...(sessionId === undefined ? {} : { sessionId }),
  });
  try {
    const message = await untilAborted(either, work);
    if (late.aborted) return failed("provider", `no answer within ${request.timeoutMs} ms`);
    if (!message) return failed("provider", "the request was aborted");
    // Pi does not reject for faults of a provider; they stand in the message.
    if (message.stopReason === "error" || message.stopReason === "aborted") {
      return failed("provider", message.errorMessage ?? `the answer ended in ${message.stopReason}`);
    }
    return { message };
  } catch (error) {
    return failed("provider", error instanceof Error ? error.message : String(error));
  }
}

/** `provider/id`; ids may contain slashes themselves. */
function find(registry: Registry, name: string): Model | undefined {
  const slash = name.indexOf("/");
  return registry.find(name.slice(0, slash), name.slice(slash + 1));
}

type Context = Parameters<Registry["complete"]>[1];

function contextOf({ systemPrompt, messages, tools }: CompleteRequest): Context {
  const timed = messages.map((message) => ({ timestamp: Date.now(), ...message }));
  // The binary writes Pi's own message and tool shapes; Pi checks what it cares about.
  return { systemPrompt, messages: timed, tools } as unknown as Context;
}

function failed(kind: "noModel" | "unresolvedModel" | "provider", message: string): Completion {
  return { error: { kind, message } };
}
