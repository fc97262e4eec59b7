// The manifest's message types: one line on the screen, the whole when expanded.
import type { Host } from "./host.ts";
import { canRender, framed, textOf } from "./render.ts";

export function registerMessageTypes(host: Host): void {
  if (!canRender) return;
  for (const { customType, line } of host.manifest.messageTypes) {
    host.pi.registerMessageRenderer(customType, (message, { expanded, outputPad }, theme) => {
      const heading = theme.fg("customMessageLabel", line);
      const text = expanded ? `${heading}\n${theme.fg("customMessageText", textOf(message.content))}` : heading;
      return framed(text, theme, outputPad ?? 1);
    });
  }
}
