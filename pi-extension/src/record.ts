// PI_STET_RECORD: each envelope with its reply, as a pair of files that the
// binary's `hook` command replays anywhere: the session inline, the clock,
// settings and files written down, nothing to be written by the replay.
import { readdirSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Envelope, Reply, SessionRef } from "./protocol.ts";

export interface Recorder {
  /** `inline` must be taken before the call: the session moves on with its effects. */
  write(envelope: Envelope, inline: SessionRef | undefined, reply: Reply, replyText: string): Promise<void>;
}

export function openRecorder(dir: string | undefined): Recorder | undefined {
  if (!dir) return undefined;
  let last = Promise.resolve();
  return {
    // One after the other, so that the numbers tell the order of the calls.
    write(envelope, inline, reply, replyText) {
      const { record: _, ...rest } = envelope;
      const recorded: Envelope = {
        ...rest,
        session: inline,
        settings: reply.resolved?.settings,
        files: reply.resolved?.files,
        dryRun: true,
      };
      // Serialised now: entries are shared with Pi's memory.
      const envelopeText = `${JSON.stringify(recorded)}\n`;
      const saved = last.then(() => save(dir, envelope.event, envelopeText, withoutResolved(replyText)));
      last = saved.catch(() => {});
      return saved;
    },
  };
}

async function save(dir: string, event: string, envelopeText: string, replyText: string): Promise<void> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  for (let number = nextNumber(dir); ; number += 1) {
    const stem = join(dir, `${String(number).padStart(4, "0")}-${event}`);
    try {
      // "wx": another Pi may record into the same folder, and nothing there, nor behind a link that
      // lies there, is ours to overwrite.
      await writeFile(`${stem}.envelope.json`, envelopeText, { mode: 0o600, flag: "wx" });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EEXIST") continue;
      throw error;
    }
    await writeFile(`${stem}.reply.json`, replyText, { mode: 0o600, flag: "wx" });
    return;
  }
}

function nextNumber(dir: string): number {
  const numbers = readdirSync(dir).map((name) => Number(/^\d{1,9}(?=-)/.exec(name)?.[0] ?? 0));
  return Math.max(0, ...numbers) + 1;
}

/**
 * The reply's text as it would be without its member "resolved", byte for byte:
 * parsing and writing it again would change numbers and the order of keys.
 */
export function withoutResolved(text: string): string {
  const span = topLevelMember(text, "resolved");
  if (!span) return text;
  const before = text.slice(0, span.start);
  const after = text.slice(span.end);
  // One of the two commas around it has to go with it.
  const comma = /^\s*,\s*/.exec(after);
  return comma ? before + after.slice(comma[0].length) : before.replace(/\s*,\s*$/, "") + after;
}

/** Where a member of the outermost object stands in a valid JSON text. */
function topLevelMember(text: string, key: string): { start: number; end: number } | undefined {
  let depth = 0;
  let start: number | undefined;
  let keyComesNext = false;
  for (let i = 0; i < text.length; i += 1) {
    const char = text[i];
    if (char === '"') {
      const end = stringEnd(text, i);
      if (depth === 1 && keyComesNext && text.slice(i + 1, end) === key) start = i;
      keyComesNext = false;
      i = end;
    } else if (char === "{" || char === "[") {
      depth += 1;
      keyComesNext = depth === 1;
    } else if (depth === 1 && (char === "," || char === "}")) {
      if (start !== undefined) return { start, end: text.slice(0, i).trimEnd().length };
      keyComesNext = true;
    } else if (char === "}" || char === "]") {
      depth -= 1;
    }
  }
  return undefined;
}

function stringEnd(text: string, start: number): number {
  let end = start;
  do end = text.indexOf('"', end + 1);
  while (isEscaped(text, end));
  return end;
}

function isEscaped(text: string, at: number): boolean {
  let backslashes = 0;
  while (text[at - 1 - backslashes] === "\\") backslashes += 1;
  return backslashes % 2 === 1;
}
