// What the host itself has to say to a person: few things, each once per
// session and cause. Everything else comes from the binary.
import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import type { Failure, Level } from "./protocol.ts";
import { plain } from "./render.ts";

/** Without a UI Pi drops notices; stderr is the one stream we may write to then. */
export function notify(ctx: ExtensionContext, level: Level, message: string): void {
  const text = plain(message);
  if (ctx.hasUI) ctx.ui.notify(text, level);
  else process.stderr.write(`${text}\n`);
}

export class Notices {
  private said = new Set<string>();
  private readonly name: string;

  constructor(name: string) {
    this.name = name;
  }

  unusable(ctx: ExtensionContext, problem: string, mend: string): void {
    this.once(ctx, "unusable", `does nothing in this session: ${problem}. To mend it: ${mend}`);
  }

  oldPi(ctx: ExtensionContext, version: string, oldest: string): void {
    this.once(ctx, "oldPi", `does nothing: it needs Pi ${oldest} or newer, this is ${version}`);
  }

  failed(ctx: ExtensionContext, event: string, failure: Failure, consequence: string): void {
    this.once(ctx, `failed:${failure.cause}`, `had no answer to ${event}: ${failure.text}. ${consequence}`);
  }

  effectFailed(ctx: ExtensionContext, effect: string, text: string): void {
    this.once(ctx, `effect:${effect}`, `could not carry out ${effect}: ${text}`);
  }

  crashed(ctx: ExtensionContext, text: string): void {
    this.once(ctx, `crashed:${text}`, `could not handle an event of Pi: ${text}`);
  }

  badSetting(ctx: ExtensionContext, variable: string, value: string, meant: string): void {
    this.once(ctx, `setting:${variable}`, `does not know ${variable}=${value}; it uses ${meant}`);
  }

  notRecorded(ctx: ExtensionContext, text: string): void {
    this.once(ctx, "notRecorded", `could not write a recording: ${text}`);
  }

  /** For what a person has just asked for: told every time. */
  refused(ctx: ExtensionContext, command: string, failure: Failure): void {
    notify(ctx, "warning", `${this.name}: /${command} failed: ${failure.text}`);
  }

  replaced(ctx: ExtensionContext): void {
    this.once(ctx, "replaced", "another extension replaced the compaction it had given; check which extensions compact");
  }

  unknownToHost(ctx: ExtensionContext, what: string): void {
    this.once(ctx, `unknown:${what}`, `asks for ${what}, which this extension does not know; update the extension`);
  }

  private once(ctx: ExtensionContext, cause: string, message: string): void {
    if (this.said.has(cause)) return;
    this.said.add(cause);
    notify(ctx, "warning", `${this.name} ${message}`);
  }
}
