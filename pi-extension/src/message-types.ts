// The manifest's message types: one line on the screen, the whole when expanded.
import type { Host } from "./host.ts";
import { canRender, expandKey, framed, oneLine, plain, textOf, whole } from "./render.ts";

export function registerMessageTypes(host: Host): void {
  if (!canRender) return;
  for (const { customType, line } of host.manifest.messageTypes) {
    host.pi.registerMessageRenderer(customType, (message, options, theme) => {
      const { expanded, outputPad } = options;
      const heading = theme.fg("customMessageLabel", plain(line));
      const key = expandKey(options);
      const content = expanded
        ? whole(`${heading}\n${theme.fg("customMessageText", plain(textOf(message.content)))}`)
        : oneLine(heading, ...(key ? [theme.fg("muted", `(${key} to expand)`)] : []));
      return framed(content, theme, outputPad ?? 1);
    });
  }
}
