// The manifest's commands, registered with Pi.
import type { ExtensionCommandContext } from "@earendil-works/pi-coding-agent";
import { guarded } from "./guard.ts";
import type { Host } from "./host.ts";
import { keepContextFiles } from "./prompt.ts";
import type { CommandSpec } from "./protocol.ts";
import { runCall } from "./steps.ts";

export function registerCommands(host: Host): void {
  for (const spec of host.manifest.commands) {
    const places = spec.completions ?? [];
    host.pi.registerCommand(spec.name, {
      description: spec.description,
      handler: async (args, ctx) => {
        await guarded(host, ctx, () => runCommand(host, spec, args, ctx));
      },
      ...(places.length > 0 ? { getArgumentCompletions: (prefix: string) => completions(places, prefix) } : {}),
    });
  }
}

async function runCommand(host: Host, spec: CommandSpec, args: string, ctx: ExtensionCommandContext): Promise<void> {
  if (typeof ctx.getSystemPromptOptions === "function") keepContextFiles(host, ctx.getSystemPromptOptions());
  const outcome = await runCall(host, ctx, {
    event: "command",
    label: `command:${spec.name}`,
    session: spec.session,
    timeoutMs: spec.timeoutMs,
    payload: { name: spec.name, args },
    prompt: true,
  });
  if (typeof outcome === "object" && "failure" in outcome) host.notices.refused(ctx, spec.name, outcome.failure);
}

/** The words for the place of the argument that is being typed. Pi replaces all arguments, so the earlier ones stay in. */
export function completions(places: string[][], prefix: string): { value: string; label: string }[] | null {
  const typed = prefix.split(/\s+/);
  const word = typed.pop() ?? "";
  const before = prefix.slice(0, prefix.length - word.length);
  const place = typed.filter((earlier) => earlier !== "").length;
  const words = (places[place] ?? []).filter((candidate) => candidate.startsWith(word));
  return words.length === 0 ? null : words.map((label) => ({ value: before + label, label }));
}
