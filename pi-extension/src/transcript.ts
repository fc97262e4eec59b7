// context_with_system: the binary sees a skeleton of the transcript and answers
// with the order it wants, by index, with messages of its own in between.
import type { CustomMessageSpec, Failure, Manifest } from "./protocol.ts";

interface Message {
  role: string;
  timestamp?: number;
  customType?: string;
  details?: unknown;
}

/**
 * No contents: they would be serialised before every request. Details only of
 * the message types the binary knows; those of others can be of any size.
 */
export function skeletons(messages: readonly Message[], manifest: Manifest): Message[] {
  const known = new Set(manifest.messageTypes.map((type) => type.customType));
  return messages.map(({ role, timestamp, customType, details }) =>
    customType !== undefined && known.has(customType)
      ? { role, customType, details, timestamp }
      : { role, customType, timestamp },
  );
}

type Rearranged = { messages: Message[] } | { failure: Failure } | undefined;

/** The new transcript; undefined when it is the old one. */
export function rearrange(messages: readonly Message[], result: unknown): Rearranged {
  const items = (result as { messages?: unknown }).messages;
  if (!Array.isArray(items)) return { failure: { cause: "result", text: "its transcript is not a list" } };
  const next: Message[] = [];
  for (const item of items) {
    const message = typeof item === "number" ? messages[item] : newMessage(item);
    if (!message) return { failure: { cause: "result", text: `its transcript names no message with ${item}` } };
    next.push(message);
  }
  // Providers take prompt and tools from there; a request without them is never what is meant.
  if (messages[0]?.role === "system" && next[0] !== messages[0]) {
    return { failure: { cause: "result", text: "its transcript does not begin with the system message" } };
  }
  const same = next.length === messages.length && next.every((message, i) => message === messages[i]);
  return same ? undefined : { messages: next };
}

function newMessage(item: unknown): Message | undefined {
  if (typeof item !== "object" || item === null || !("customType" in item)) return undefined;
  return { role: "custom", display: false, timestamp: Date.now(), ...(item as CustomMessageSpec) } as Message;
}
