// Records one session: real Pi works on the weather project, the person's part
// and the model's part are written down in a script, and every tool runs for real.
// Ids and times differ between recordings; paths of this machine do not stay.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  HELPER_EXTENSION,
  makeWorkspace,
  NODE_BIN,
  PI_ROOT,
  readSession,
  startPiRpc,
} from "../../tests/pi/harness/harness.mjs";
import { SUMMARISER } from "../../tests/pi/harness/server.mjs";
import { weatherProject } from "./project.mjs";

const HERE = dirname(fileURLToPath(import.meta.url));

/** Tool calls, as short as a script wants them. */
export const bash = (command) => ({ name: "bash", arguments: { command } });
export const read = (path, range = {}) => ({ name: "read", arguments: { path, ...range } });
export const write = (path, content) => ({ name: "write", arguments: { path, content } });
export const edit = (path, ...edits) => ({
  name: "edit",
  arguments: { path, edits: edits.map(([oldText, newText]) => ({ oldText, newText })) },
});

/** A model's turn as the scripts write it: { think?, say?, calls?, … } and what server.mjs knows. */
function asStep({ think, say, calls, ...other }) {
  return { reasoning: think, text: say, toolCalls: calls, ...other };
}

const GIT = {
  GIT_AUTHOR_NAME: "Dev",
  GIT_AUTHOR_EMAIL: "dev@example.org",
  GIT_COMMITTER_NAME: "Dev",
  GIT_COMMITTER_EMAIL: "dev@example.org",
  GIT_AUTHOR_DATE: "2026-03-01T18:00:00Z",
  GIT_COMMITTER_DATE: "2026-03-01T18:00:00Z",
  GIT_CONFIG_NOSYSTEM: "1",
};

function commitEverything(ws) {
  const options = { cwd: ws.cwd, env: { ...ws.env, ...GIT } };
  execFileSync("git", ["init", "-q", "-b", "main"], options);
  execFileSync("git", ["add", "."], options);
  execFileSync("git", ["commit", "-q", "-m", "Weather report 0.3.0"], options);
}

/** Replaces this machine's paths; throws when one is left. */
function neutral(text, ws) {
  const encoded = (path) => `--${path.replace(/^\//, "").replaceAll("/", "-")}--`;
  const replacements = [
    [encoded(ws.cwd), "--home-dev-weather--"],
    [ws.cwd, "/home/dev/weather"],
    [ws.agentDir, "/home/dev/.pi/agent"],
    [ws.root, "/home/dev"],
    [PI_ROOT, "/usr/lib/node_modules"],
  ];
  let result = text;
  for (const [from, to] of replacements) result = result.replaceAll(from, to);
  for (const left of ["pi-test-", "/work/", process.env.HOME ?? "/root/"]) {
    const at = result.indexOf(left);
    if (at >= 0) throw new Error(`a path of this machine is left: …${result.slice(at - 60, at + 60)}…`);
  }
  return result;
}

export class Recording {
  /**
   *   startsAt   time of the first entry (ISO)
   *   days       days of readings in data/march.csv
   *   settings   Pi's settings, args Pi's arguments
   */
  static async start({ startsAt, days, settings = {}, args = [], model = {} }) {
    const ws = await makeWorkspace({
      name: "weather",
      model: { reasoning: true, contextWindow: 200_000, ...model },
      settings,
      files: weatherProject({ days }),
      script: { fallback: { status: 500, error: "the script has no step for this request" } },
    });
    commitEverything(ws);
    const recording = new Recording();
    recording.ws = ws;
    recording.pi = startPiRpc(ws, {
      extensions: [HELPER_EXTENSION],
      args,
      env: {
        ...GIT,
        PATH: `${dirname(NODE_BIN)}:${ws.env.PATH}`,
        NODE_OPTIONS: `--import ${join(HERE, "clock.mjs")}`,
        RECORDING_STARTS_AT: startsAt,
        RECORDING_SPEED: "60",
      },
    });
    return recording;
  }

  /** The person says something, the model answers with these turns. */
  async user(text, turns, extra = {}) {
    this.ws.llm.addSteps(...turns.map(asStep));
    await this.pi.prompt(text, extra);
    this.#checkScript(text);
  }

  /** The person says something and presses Escape while the model's last turn still hangs. */
  async userWhoAborts(text, turns) {
    const hanging = turns.at(-1).hang;
    if (typeof hanging !== "number") throw new Error("the last turn must hang after some chunks");
    this.ws.llm.addSteps(...turns.map(asStep));
    const answered = this.pi.waitFor((event) => event.type === "message_update" && this.ws.llm.stepsLeft() === 0);
    await this.pi.send({ type: "prompt", message: text });
    await answered;
    // Let the chunks that were sent arrive.
    await new Promise((resolve) => setTimeout(resolve, 150));
    const settled = this.pi.waitFor("agent_settled");
    await this.pi.send({ type: "abort" });
    await settled;
    this.#checkScript(text);
  }

  #checkScript(text) {
    const { llm } = this.ws;
    if (llm.stepsLeft() > 0) throw new Error(`${llm.stepsLeft()} turns were not asked for after: ${text}`);
    const off = llm.requests().find((request) => request.via === "fallback");
    if (off) throw new Error(`the conversation left its script after: ${text}`);
  }

  /** A command of the person's own: `!command`, or `!!command` when hidden from the model. */
  bash(command, { hidden = false } = {}) {
    return this.pi.send({ type: "bash", command, excludeFromContext: hidden });
  }

  helper(words) {
    return this.pi.prompt(`/helper ${words}`);
  }

  /** Time passes: "25m", "2h". */
  pause(duration) {
    return this.helper(`later ${duration}`);
  }

  /** What the summariser says the next time Pi asks it, for the history or for the beginning of a split turn. */
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

  /** The person types /compact, with words for the summariser if there are any. */
  compact(words) {
    return this.pi.send({ type: "compact", customInstructions: words });
  }

  async entries() {
    return (await this.pi.send({ type: "get_entries" })).data.entries;
  }

  /** The newest entry of the file for which the function says yes. */
  async newest(test) {
    const found = (await this.entries()).findLast(test);
    if (!found) throw new Error("there is no such entry");
    return found;
  }

  async leaf() {
    return (await this.pi.send({ type: "get_entries" })).data.leafId;
  }

  async sessionFile() {
    return (await this.pi.send({ type: "get_state" })).data.sessionFile;
  }

  /** Ends Pi and gives the text of its session files: { path: text }, paths as they are here. */
  async finish() {
    await this.pi.close();
    const problems = this.pi.events.filter((event) => ["extension_error", "not_json"].includes(event.type));
    if (problems.length > 0) throw new Error(JSON.stringify(problems));
    const files = {};
    for (const file of this.ws.sessionFiles()) {
      readSession(file);
      files[file] = neutral(readFileSync(file, "utf8"), this.ws);
    }
    await this.ws.dispose();
    return files;
  }

  async discard() {
    await this.pi.close();
    await this.ws.dispose();
  }
}

export const isUser = (entry) => entry.message?.role === "user";
export const isAssistant = (entry) => entry.message?.role === "assistant";
export const isToolResult = (entry) => entry.message?.role === "toolResult";
