// A panel in the place of the editor: labels and texts, until the person closes it.
import type { ExtensionContext, Theme } from "@earendil-works/pi-coding-agent";
import * as tui from "@earendil-works/pi-tui";
import type { Panel } from "./protocol.ts";
import { plain } from "./render.ts";

/** What Pi draws below a panel, and a look at the conversation above it. */
const OTHER_LINES = 8;
const GAP = 2;

/** False where there is no such place: not a terminal, or a Pi whose TUI lacks the parts. */
export function showPanel(ctx: ExtensionContext, panel: Panel, lifetime: AbortSignal): boolean {
  if (ctx.mode !== "tui" || typeof tui.wrapTextWithAnsi !== "function" || lifetime.aborted) return false;
  const closed = ctx.ui.custom<void>((screen, theme, keys, done) => {
    const close = () => done();
    lifetime.addEventListener("abort", close, { once: true });
    const view = new PanelView(panel, theme, keys, () => screen.terminal.rows - OTHER_LINES);
    return {
      render: (width: number) => view.render(width),
      invalidate() {},
      handleInput(data: string) {
        if (view.handle(data)) return screen.requestRender();
        close();
        // Who goes on typing means the editor.
        const typed = typedText(data);
        if (typed) ctx.ui.pasteToEditor(typed);
      },
      dispose: () => lifetime.removeEventListener("abort", close),
    };
  });
  // The session has ended, and its screen with it.
  closed.catch(() => {});
  return true;
}

/** The text of a key or of a paste; nothing for keys that are commands. */
function typedText(data: string): string {
  const pasted = /^\x1b\[200~([^]*)\x1b\[201~$/.exec(data);
  if (pasted) return pasted[1] ?? "";
  return tui.decodeKittyPrintable?.(data) ?? (/^\P{Cc}+$/u.test(data) ? data : "");
}

export class PanelView {
  private top = 0;
  private last = 0;
  private page = 1;
  private readonly panel: Panel;
  private readonly theme: Theme;
  private readonly keys: tui.KeybindingsManager;
  private readonly room: () => number;

  /** `room` is how many lines there are. */
  constructor(panel: Panel, theme: Theme, keys: tui.KeybindingsManager, room: () => number) {
    this.panel = panel;
    this.theme = theme;
    this.keys = keys;
    this.room = room;
  }

  render(width: number): string[] {
    const { theme, panel } = this;
    const inner = Math.max(1, width - 2);
    const title = wrap(theme.fg("accent", theme.bold(plain(panel.title))), inner);
    const body = this.body(inner);
    this.page = Math.max(1, Math.min(body.length, this.room() - title.length - 6));
    this.last = body.length - this.page;
    this.top = Math.min(this.top, this.last);
    const border = theme.fg("border", "─".repeat(Math.max(1, width)));
    const shown = body.slice(this.top, this.top + this.page);
    const lines = [...title, "", ...shown, "", ...wrap(this.hint(body.length), inner)];
    return [border, "", ...lines.map((line) => (line === "" ? "" : ` ${line}`)), border];
  }

  private body(width: number): string[] {
    const rows = this.panel.rows.map(({ label, text, level }) => ({ label: plain(label), text: plain(text), level }));
    const column = Math.max(...rows.map(({ label }) => tui.visibleWidth(label)), 0) + GAP;
    // Where two columns do not fit, a text stands below its label.
    const beside = column * 2 <= width;
    const indent = beside ? column : width > 3 * GAP ? GAP : 0;
    return rows.flatMap(({ label, text, level }) => {
      const color = level === "warning" || level === "error" ? level : "text";
      const lines = wrap(this.theme.fg(color, text), width - indent);
      const name = this.theme.fg("muted", label);
      const margin = " ".repeat(indent);
      if (!beside) return [...wrap(name, width), ...lines.map((line) => margin + line)];
      const first = name + " ".repeat(column - tui.visibleWidth(label));
      return lines.map((line, at) => (at === 0 ? first : margin) + line);
    });
  }

  private hint(lines: number): string {
    const { theme } = this;
    const key = (name: tui.Keybinding) => this.keys.getKeys(name)[0] ?? "";
    const hint = (keys: string, does: string) => theme.fg("dim", keys) + theme.fg("muted", ` ${does}`);
    const close = hint(key("tui.select.cancel"), "close");
    if (this.last === 0) return close;
    const shown = theme.fg("muted", `(${this.top + 1}–${this.top + this.page} of ${lines})`);
    return `${hint("↑↓", "scroll")}  ${close}  ${shown}`;
  }

  /** Whether the key was one of the panel's own; any other closes it. */
  handle(data: string): boolean {
    const is = (name: tui.Keybinding) => this.keys.matches(data, name);
    if (is("tui.select.up")) return this.scroll(-1);
    if (is("tui.select.down")) return this.scroll(1);
    if (is("tui.select.pageUp")) return this.scroll(-this.page);
    if (is("tui.select.pageDown")) return this.scroll(this.page);
    return false;
  }

  private scroll(by: number): boolean {
    this.top = Math.max(0, Math.min(this.last, this.top + by));
    return true;
  }
}

function wrap(text: string, width: number): string[] {
  return text.split("\n").flatMap((line) => tui.wrapTextWithAnsi(line, width));
}
