// What happens before each run without a process: the active prompt sections
// are set (Pi drops those that are not set again), the context files are kept.
import type { BeforeAgentStartEvent } from "@earendil-works/pi-coding-agent";
import type { Host } from "./host.ts";
import type { ContextFile } from "./protocol.ts";

export function preparePrompt(host: Host, { systemPromptOptions }: BeforeAgentStartEvent): void {
  keepContextFiles(host, systemPromptOptions);
  for (const { tag, text } of host.active.activeSections()) {
    systemPromptOptions.sections ??= {};
    systemPromptOptions.sections[tag] = text;
  }
}

export function keepContextFiles(host: Host, options: { contextFiles?: ContextFile[] }): void {
  host.contextFiles = options.contextFiles?.map(({ path, content }) => ({ path, content }));
}
