// The manifest's tools, registered with Pi.
import type { ExtensionContext, ToolDefinition } from "@earendil-works/pi-coding-agent";
import type { Host } from "./host.ts";
import { takesErrorResults } from "./pi-compat.ts";
import type { ToolSpec } from "./protocol.ts";
import { canRender, expandKey, fillCallLine, oneLine, plain, summary, textOf, whole } from "./render.ts";
import { type Outcome, runCall } from "./steps.ts";

type Definition = ToolDefinition<any, unknown>;
type Result = Awaited<ReturnType<Definition["execute"]>>;

export function registerTools(host: Host): void {
  for (const spec of host.manifest.tools) host.pi.registerTool(definition(host, spec));
}

function definition(host: Host, spec: ToolSpec): Definition {
  return {
    name: spec.name,
    label: spec.label,
    description: spec.description,
    parameters: spec.parameters,
    promptSnippet: spec.promptSnippet,
    promptGuidelines: spec.promptGuidelines,
    executionMode: spec.executionMode,
    defaultActive: spec.active,
    async execute(toolCallId, params, signal, onUpdate, ctx) {
      const outcome = await runCall(host, ctx, {
        event: "tool",
        label: `tool:${spec.name}`,
        session: spec.session,
        timeoutMs: spec.timeoutMs,
        payload: { name: spec.name, toolCallId, params },
        prompt: true,
        signal,
        onProgress: (text) => onUpdate?.({ content: [{ type: "text", text }], details: undefined }),
      });
      const result = resultOf(host, ctx, outcome);
      if (result.isError && !takesErrorResults(ctx)) throw new Error(textOf(result.content));
      return result;
    },
    ...(canRender ? renderers(spec) : {}),
  };
}

function resultOf(host: Host, ctx: ExtensionContext, outcome: Outcome): Result {
  if (outcome === "aborted") return failed("Aborted.");
  if (outcome === "none") return failed("The tool gave no answer.");
  if ("failure" in outcome) {
    host.notices.failed(ctx, "a tool call", outcome.failure, "The model is told so.");
    return failed(`The tool has no answer: ${outcome.failure.text}.`);
  }
  const result = outcome.result as Partial<Result>;
  if (!Array.isArray(result.content)) return failed("The tool gave an answer without content.");
  return { ...result, content: result.content, details: result.details };
}

function failed(text: string): Result {
  return { content: [{ type: "text", text }], details: {}, isError: true };
}

function renderers(spec: ToolSpec): Pick<Definition, "renderCall" | "renderResult"> {
  return {
    renderCall(args, theme, context) {
      const text = fillCallLine(spec.callLine ?? spec.name, args);
      const [head = "", ...rest] = text.split(" ");
      const styled = [theme.fg("toolTitle", theme.bold(head)), theme.fg("accent", rest.join(" "))].join(" ");
      return context?.expanded ? whole(styled) : oneLine(styled);
    },
    renderResult(result, { expanded, isPartial }, theme, context) {
      const text = plain(textOf(result.content));
      const color = (part: string) => theme.fg(context.isError ? "error" : isPartial ? "muted" : "toolOutput", part);
      return expanded ? whole(color(text)) : summary(text, color, theme, expandKey(context));
    },
  };
}
