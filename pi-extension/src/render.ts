// One-line rendering of calls, results and messages, expandable to the whole.
import type { Theme } from "@earendil-works/pi-coding-agent";
import * as tui from "@earendil-works/pi-tui";

const MAX_VALUE = 120;

/** Undefined where Pi's TUI has no such component: Pi then renders as it does by default. */
export const canRender: boolean = typeof tui.Text === "function" && typeof tui.Box === "function";

export function line(text: string): tui.Component {
  return new tui.Text(text, 0, 0);
}

/** In the frame Pi gives to messages of extensions. */
export function framed(text: string, theme: Theme, padding: number): tui.Component {
  const box = new tui.Box(padding, 1, (content) => theme.bg("customMessageBg", content));
  box.addChild(line(text));
  return box;
}

/** `grep {pattern}` with the call's arguments, which may still be arriving. */
export function fillCallLine(template: string, args: unknown): string {
  const values = typeof args === "object" && args !== null ? (args as Record<string, unknown>) : {};
  return template
    .replace(/\{(\w+)\}/g, (_, key: string) => oneLine(values[key]))
    .replace(/\s+/g, " ")
    .trim();
}

function oneLine(value: unknown): string {
  if (value === undefined || value === null) return "";
  const text = (typeof value === "string" ? value : JSON.stringify(value)).replace(/\s+/g, " ").trim();
  const characters = [...text];
  return characters.length > MAX_VALUE ? `${characters.slice(0, MAX_VALUE - 1).join("")}…` : text;
}

export function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((block: { text?: unknown }) => (typeof block?.text === "string" ? block.text : "")).join("\n");
}

/** The first line and how many more there are. */
export function firstLine(text: string, theme: Theme): string {
  const lines = text.trimEnd().split("\n");
  const more = lines.length - 1;
  const [first = ""] = lines;
  return more === 0 ? first : `${first} ${theme.fg("muted", `… ${more} more ${more === 1 ? "line" : "lines"}`)}`;
}
