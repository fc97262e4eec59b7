// One conversation with Pi, as a script tells it: what the person says, and what
// the model answers each time it is asked. A model request that the script did
// not foresee, or a turn nobody asked for, is an error.
import { startPiRpc } from "./harness.mjs";
import { SUMMARISER } from "./server.mjs";

/** Tool calls, as short as a script wants them. */
export const bash = (command) => ({ name: "bash", arguments: { command } });
export const read = (path, range = {}) => ({ name: "read", arguments: { path, ...range } });
export const write = (path, content) => ({ name: "write", arguments: { path, content } });
export const edit = (path, ...edits) => ({
  name: "edit",
  arguments: { path, edits: edits.map(([oldText, newText]) => ({ oldText, newText })) },
});

/** Answers every request that the script did not foresee. */
export const OFF_SCRIPT = { status: 500, error: "the script has no turn for this request" };

/** A model's turn as scripts write it: { think?, say?, calls? } and what server.mjs knows besides. */
function asStep(turn) {
  if (typeof turn === "string") return { text: turn };
  const { think, say, calls, ...other } = turn;
  return { reasoning: think, text: say, toolCalls: calls, ...other };
}

export class Conversation {
  /** A conversation in that workspace; `options` are those of startPiRpc. */
  constructor(workspace, options) {
    this.ws = workspace;
    this.options = options;
    this.pi = startPiRpc(workspace, options);
    this.earlierEvents = [];
  }

  /** The person says something, the model answers with these turns. */
  async user(text, turns = [], extra = {}) {
    this.ws.llm.addSteps(...turns.map(asStep));
    await this.pi.prompt(text, extra);
    this.checkScript(text);
  }

  /** The person says something and presses Escape while the last turn, cut short by `hang`, stands still. */
  async userWhoAborts(text, turns) {
    const { hang } = turns.at(-1);
    if (typeof hang !== "number") throw new Error("the last turn must hang after some chunks");
    this.ws.llm.addSteps(...turns.map(asStep));
    let updates = 0;
    const arrived = this.pi.waitFor((event) => {
      if (this.ws.llm.stepsLeft() === 0 && event.type === "message_update") updates += 1;
      return updates >= hang;
    }, "the chunks before the abort");
    await this.pi.send({ type: "prompt", message: text });
    await arrived;
    const settled = this.pi.waitFor("agent_settled");
    await this.pi.send({ type: "abort" });
    await settled;
    this.checkScript(text);
  }

  checkScript(text) {
    const { llm } = this.ws;
    const where = `after: ${text.slice(0, 80)}`;
    if (llm.stepsLeft() > 0) throw new Error(`${llm.stepsLeft()} turns were never asked for, ${where}`);
    const off = llm.requests().find((request) => request.via === "fallback");
    if (off) throw new Error(`request ${off.n} is not in the script, ${where}`);
  }

  /** A command of the person's own: `!command`, or `!!command` when hidden from the model. */
  async bash(command, { hidden = false } = {}) {
    return (await this.pi.send({ type: "bash", command, excludeFromContext: hidden })).data;
  }

  /** See helper-extension.ts. */
  async helper(words) {
    const failed = () => this.pi.events.filter((event) => event.type === "extension_error").length;
    const before = failed();
    await this.pi.prompt(`/helper ${words}`);
    if (failed() > before)
      throw new Error(JSON.stringify(this.pi.events.findLast((e) => e.type === "extension_error")));
  }

  /** /compact, with words if there are any. Gives Pi's result. */
  async compact(words) {
    return (await this.pi.send({ type: "compact", customInstructions: words })).data;
  }

  /** What Pi's summariser says the next time it is asked, for the history or for the beginning of a split turn. */
  summariserSays({ history, splitTurn }) {
    const answers = [
      [splitTurn, "earlier context from an ongoing conversation"],
      [history, ""],
    ];
    for (const [text, bodyIncludes] of answers) {
      if (text === undefined) continue;
      this.ws.llm.addRule({ when: { systemIncludes: SUMMARISER, bodyIncludes }, reply: { text }, times: 1 });
    }
  }

  async state() {
    return (await this.pi.send({ type: "get_state" })).data;
  }

  async sessionFile() {
    return (await this.state()).sessionFile;
  }

  /** All entries in the order of the file, and the leaf: { entries, leafId }. */
  async tree() {
    return (await this.pi.send({ type: "get_entries" })).data;
  }

  async leaf() {
    return (await this.tree()).leafId;
  }

  /** The entries from the root to the leaf. */
  async branch() {
    const { entries, leafId } = await this.tree();
    const byId = new Map(entries.map((entry) => [entry.id, entry]));
    const path = [];
    for (let at = byId.get(leafId); at; at = byId.get(at.parentId)) path.unshift(at);
    return path;
  }

  /** The newest entry of the file for which the function says yes. */
  async newest(test) {
    const found = (await this.tree()).entries.findLast(test);
    if (!found) throw new Error("there is no such entry");
    return found;
  }

  /** Everything Pi reported, also before it was started again. */
  events() {
    return [...this.earlierEvents, ...this.pi.events];
  }

  /** Ends Pi and starts it again with other arguments. */
  async restart({ args }) {
    await this.close();
    this.earlierEvents.push(...this.pi.events);
    this.options = { ...this.options, args };
    this.pi = startPiRpc(this.ws, this.options);
  }

  async close() {
    await this.pi.close();
  }
}

export const isUser = (entry) => entry.message?.role === "user";
export const isAssistant = (entry) => entry.message?.role === "assistant";
export const isToolResult = (entry) => entry.message?.role === "toolResult";
export const isCompaction = (entry) => entry.type === "compaction";
