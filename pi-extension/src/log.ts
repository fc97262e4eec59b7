// PI_STET_LOG: one JSON line per run of the binary. Sizes, times and outcomes;
// never a word of the session.
import { appendFile } from "node:fs/promises";

export interface LogLine {
  event: string;
  ms: number;
  sentBytes: number;
  receivedBytes: number;
  outcome: string;
}

export type Log = (line: LogLine) => void;

export function openLog(file: string | undefined): Log | undefined {
  if (!file) return undefined;
  let last = Promise.resolve();
  return (line) => {
    const text = `${JSON.stringify({ at: new Date().toISOString(), ...line })}\n`;
    // In order, off the event loop's way; a log that cannot be written is no reason to disturb Pi.
    last = last.then(() => appendFile(file, text, { mode: 0o600 })).catch(() => {});
  };
}
