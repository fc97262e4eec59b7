// One-line rendering of calls, results and messages, expandable to the whole.
import type { MessageRenderOptions, Theme } from "@earendil-works/pi-coding-agent";
import * as tui from "@earendil-works/pi-tui";

const MAX_VALUE = 120;

/** False where Pi's TUI lacks the parts: Pi then renders as it does by default. */
export const canRender: boolean = typeof tui.Text === "function" && typeof tui.Box === "function";

/** All of a text, in as many lines as it takes. */
export function whole(text: string): tui.Component {
  return new tui.Text(text, 0, 0);
}

/**
 * A text in one line, whatever the width; what does not fit is cut off. Of the notes, the longest
 * first, one stands whole behind it: the first that leaves the text more than half of the line.
 */
export function oneLine(text: string, ...notes: string[]): tui.Component {
  return {
    render(width) {
      const note = notes.find((candidate) => (tui.visibleWidth(candidate) + 1) * 2 <= width);
      if (note === undefined) return [tui.truncateToWidth(text, width, "…")];
      return [`${tui.truncateToWidth(text, width - tui.visibleWidth(note) - 1, "…")} ${note}`];
    },
    invalidate() {},
  };
}

/** In the frame Pi gives to messages of extensions. */
export function framed(content: tui.Component, theme: Theme, padding: number): tui.Component {
  const box = new tui.Box(padding, 1, (text) => theme.bg("customMessageBg", text));
  box.addChild(content);
  return box;
}

/** Colors, movements, titles and the like. Node's own function takes text along with some of them. */
const SEQUENCES = /(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)/g;

/** Without what a terminal obeys. */
export function plain(text: string): string {
  return text.replace(SEQUENCES, "").replace(/[^\P{Cc}\n\t]/gu, "").replaceAll("\t", "    ");
}

/**
 * `grep {pattern}[ in {path}]` with the call's arguments, which may still be arriving. What stands
 * in brackets is left out with its argument.
 */
export function fillCallLine(template: string, args: unknown): string {
  const values = typeof args === "object" && args !== null ? (args as Record<string, unknown>) : {};
  const fill = (part: string) => part.replace(/\{(\w+)\}/g, (_, key: string) => clipped(valueText(values[key])));
  const isThere = (part: string) => [...part.matchAll(/\{(\w+)\}/g)].every(([, key]) => valueText(values[key ?? ""]) !== "");
  const chosen = template.replace(/\[([^\]]*)\]/g, (_, part: string) => (isThere(part) ? part : ""));
  return fill(chosen).replace(/\s+/g, " ").trim();
}

function valueText(value: unknown): string {
  if (value === undefined || value === null) return "";
  if (Array.isArray(value)) return value.map(valueText).join(", ");
  return typeof value === "object" ? "{…}" : plain(String(value)).replace(/\s+/g, " ").trim();
}

function clipped(text: string): string {
  const characters = [...text];
  return characters.length > MAX_VALUE ? `${characters.slice(0, MAX_VALUE - 1).join("")}…` : text;
}

/** The text of a message or a result, as it may be drawn. */
export function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((block: { text?: unknown }) => (typeof block?.text === "string" ? block.text : "")).join("\n");
}

/** The first line of a text in that color, how many more there are, and how to see them. */
export function summary(text: string, color: (text: string) => string, theme: Theme, key?: string): tui.Component {
  const [first = "", ...rest] = text.trimEnd().split("\n");
  if (rest.length === 0) return oneLine(color(first));
  const more = `${rest.length} more ${rest.length === 1 ? "line" : "lines"}`;
  const notes = key ? [`(${more}, ${key} to expand)`, `(${more})`] : [`(${more})`];
  return oneLine(color(first), ...notes.map((note) => theme.fg("muted", note)));
}

/** Pi's name of the key that expands; Pi says it from 1.5 on. */
export function expandKey(hints: Partial<Pick<MessageRenderOptions, "keyText">> | undefined): string | undefined {
  return hints?.keyText?.("app.tools.expand");
}
