// Records one session: real Pi works on the weather project, the person's part
// and the model's part are written down in a script, and every tool runs for real.
// Ids and times differ between recordings; paths of this machine do not stay.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Conversation, OFF_SCRIPT } from "../../tests/pi/harness/conversation.mjs";
import { HELPER_EXTENSION, makeWorkspace, NODE_BIN, PI_ROOT, readSession } from "../../tests/pi/harness/harness.mjs";
import { weatherProject } from "./project.mjs";

export { bash, edit, isAssistant, isToolResult, isUser, read, write } from "../../tests/pi/harness/conversation.mjs";

const HERE = dirname(fileURLToPath(import.meta.url));

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
  for (const left of ["pi-test-", dirname(HERE), process.env.HOME]) {
    const at = left ? result.indexOf(left) : -1;
    if (at >= 0) throw new Error(`a path of this machine is left: …${result.slice(at - 60, at + 60)}…`);
  }
  return result;
}

export class Recording extends Conversation {
  /**
   *   startsAt   time of the first entry (ISO)
   *   days       days of readings in data/march.csv
   *   settings   Pi's settings, args Pi's arguments, model changes to the model
   */
  static async start({ startsAt, days, settings = {}, args = [], model = {} }) {
    const ws = await makeWorkspace({
      name: "weather",
      model: { reasoning: true, contextWindow: 200_000, ...model },
      settings,
      files: weatherProject({ days }),
      script: { fallback: OFF_SCRIPT },
    });
    commitEverything(ws);
    return new Recording(ws, {
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
  }

  /** Time passes: "25m", "2h". */
  pause(duration) {
    return this.helper(`later ${duration}`);
  }

  /** Ends Pi and gives the text of its session files: { path: text }, paths as they are here. */
  async finish() {
    await this.close();
    const problems = this.events().filter((event) => ["extension_error", "not_json"].includes(event.type));
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
    await this.close();
    await this.ws.dispose();
  }
}
