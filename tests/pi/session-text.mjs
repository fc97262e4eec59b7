// Session files that are written down, not talked into being.
const USAGE = {
  input: 10,
  output: 10,
  cacheRead: 0,
  cacheWrite: 0,
  totalTokens: 20,
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
};

/** A session file, entry by entry; each is the child of the one before, unless `parent` says otherwise. */
export class SessionText {
  constructor({ cwd = "{{cwd}}" } = {}) {
    const time = "2026-04-01T08:00:00.000Z";
    this.text = "";
    this.count = 0;
    this.parent = null;
    this.clock = Date.parse(time);
    this.line({ type: "session", version: 3, id: "019d4858-0000-7000-8000-000000000001", timestamp: time, cwd });
  }

  line(value) {
    this.count += 1;
    this.text += `${JSON.stringify(value)}\n`;
  }

  /** The fields stand in Pi's order, which readers count on for their speed. */
  entry({ type, ...fields }, { parent = this.parent } = {}) {
    this.clock += 1000;
    const id = (0x10000000 + this.count).toString(16);
    this.line({ type, id, parentId: parent, timestamp: new Date(this.clock).toISOString(), ...fields });
    this.parent = id;
    return id;
  }

  message(message, options) {
    return this.entry({ type: "message", message: { ...message, timestamp: this.clock + 1000 } }, options);
  }

  user(text, options) {
    return this.message({ role: "user", content: [{ type: "text", text }] }, options);
  }

  assistant(...content) {
    const stopReason = content.some((block) => block.type === "toolCall") ? "toolUse" : "stop";
    return this.message({
      role: "assistant",
      content,
      api: "openai-completions",
      provider: "fake",
      model: "fake-1",
      usage: USAGE,
      stopReason,
    });
  }

  result(toolCallId, toolName, text, { isError = false } = {}) {
    return this.message({
      role: "toolResult",
      toolCallId,
      toolName,
      content: [{ type: "text", text }],
      isError,
    });
  }

  compaction(summary, firstKeptEntryId) {
    return this.entry({ type: "compaction", summary, firstKeptEntryId, tokensBefore: 1000 });
  }

  toString() {
    return this.text;
  }
}

/** Blocks of a message. */
export const text = (value) => ({ type: "text", text: value });
export const call = (id, command) => ({ type: "toolCall", id, name: "bash", arguments: { command } });
