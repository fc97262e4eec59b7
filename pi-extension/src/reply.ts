// From what a run of the binary left behind to a reply, or to the reason why
// there is none.
import type { ChildResult } from "./child.js";
import { type Failure, PROTOCOL, type Reply } from "./protocol.ts";

const OUTCOMES = ["result", "ask", "complete", "error"] as const;
const MAX_DIAGNOSIS = 200;

export function readReply(run: Exclude<ChildResult, { kind: "aborted" }>): Reply | { failure: Failure } {
  switch (run.kind) {
    case "unstartable":
      return failure("unstartable", `it could not be started (${run.code})`);
    case "timeout":
      return failure("timeout", "it took longer than its time limit and was stopped");
    case "tooLarge":
      return failure("tooLarge", "its output was larger than its manifest allows");
    case "exited":
      return readOutput(run);
  }
}

function readOutput(run: ChildResult & { kind: "exited" }): Reply | { failure: Failure } {
  const reply = parse(run.stdout);
  // Status 2 and 70 come with an error reply that says more than the number.
  if (run.status !== 0 && !reply?.error) {
    const how = run.killedBy ? `it was ended by ${run.killedBy}` : `it ended with status ${run.status}`;
    return failure(`ended:${run.killedBy ?? run.status}`, how + diagnosis(run.stderr));
  }
  if (!reply) return failure("garbage", "what it printed is not a reply");
  if (reply.protocol !== PROTOCOL) return failure("protocol", `it answered in protocol ${reply.protocol}`);
  if (OUTCOMES.filter((field) => reply[field] !== undefined).length > 1) {
    return failure("ambiguous", "its reply has more than one outcome");
  }
  return reply;
}

function parse(text: string): Reply | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Reply) : undefined;
  } catch {
    return undefined;
  }
}

/** The first line of stderr: for the person only, never for the log. */
function diagnosis(stderr: string): string {
  const line = stderr.split("\n").find((text) => text.trim() !== "");
  return line ? ` (${line.trim().slice(0, MAX_DIAGNOSIS)})` : "";
}

function failure(cause: string, text: string): { failure: Failure } {
  return { failure: { cause, text } };
}
