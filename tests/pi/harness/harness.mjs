// Real Pi in a sealed workspace: a temporary home, agent folder and project,
// a scripted model server, and Pi in RPC or print mode on top of it.
//
//   const ws = await makeWorkspace({ script: { steps: [{ text: "hello" }] } });
//   const pi = startPiRpc(ws, { extensions: ["/path/to/extension"] });
//   await pi.prompt("say hello");
//   await pi.close();
//   await ws.dispose();
//
// Environment: PI_ROOT (a node_modules folder with Pi in it; default is that of
// pi-extension/), PI_NODE (the Node that runs Pi), PI_CLI (Pi's entry file).
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { startModelServer } from "./server.mjs";

export const HARNESS_DIR = dirname(fileURLToPath(import.meta.url));
export const REPO_DIR = resolve(HARNESS_DIR, "../../..");
export const PI_ROOT = process.env.PI_ROOT ?? join(REPO_DIR, "pi-extension", "node_modules");

const PI_PACKAGE = join(PI_ROOT, "@earendil-works", "pi-coding-agent");
if (!process.env.PI_CLI && !existsSync(join(PI_PACKAGE, "package.json"))) {
  throw new Error(`Pi is not in ${PI_ROOT}: run \`npm ci\` in pi-extension/, or set PI_ROOT to a node_modules folder`);
}

const PI_JSON = process.env.PI_CLI ? {} : JSON.parse(readFileSync(join(PI_PACKAGE, "package.json"), "utf8"));
export const PI_CLI = process.env.PI_CLI ?? join(PI_PACKAGE, PI_JSON.bin.pi);
export const PI_VERSION = PI_JSON.version ?? process.env.PI_VERSION;

/** Whether this Pi is of that release, "1.2", or a later one. */
export function piIs(release) {
  const [major, minor] = release.split(".").map(Number);
  const [ourMajor, ourMinor] = PI_VERSION.split(".").map(Number);
  return ourMajor > major || (ourMajor === major && ourMinor >= minor);
}
const BUNDLED_NODE = join(PI_ROOT, ".bin", "node");
export const NODE_BIN = process.env.PI_NODE ?? (existsSync(BUNDLED_NODE) ? BUNDLED_NODE : process.execPath);

/** Our two helper extensions; what they do stands at their tops. */
export const HELPER_EXTENSION = join(HARNESS_DIR, "helper-extension.ts");
export const ORACLE_EXTENSION = join(HARNESS_DIR, "oracle-extension.ts");

const MODEL = {
  id: "fake-1",
  name: "Fake One",
  reasoning: false,
  input: ["text", "image"],
  contextWindow: 32000,
  maxTokens: 2000,
  cost: { input: 1, output: 2, cacheRead: 0.1, cacheWrite: 0 },
};

const SETTINGS = {
  defaultProvider: "fake",
  defaultModel: "fake-1",
  defaultThinkingLevel: "off",
  enableInstallTelemetry: false,
  cacheWarming: "off",
  defaultProjectTrust: "never",
  retry: { enabled: false },
};

const PROVIDER = {
  apiKey: "fake-key",
  api: "openai-completions",
  compat: {
    supportsDeveloperRole: false,
    supportsReasoningEffort: false,
    supportsStore: false,
    maxTokensField: "max_tokens",
  },
};

const writeJson = (file, value) => writeFileSync(file, JSON.stringify(value, null, 2));

function writeFiles(dir, files) {
  for (const [name, text] of Object.entries(files)) {
    const file = join(dir, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
}

/** Every file below a folder with the ending asked for, or [] when there is no such folder. */
export function filesBelow(dir, ending = "") {
  if (!existsSync(dir)) return [];
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(ending))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

/** The entries of a session file, header first. Throws on a line that is not JSON. */
export function readSession(file) {
  return readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
}

/**
 * A temporary home with an agent folder, a project folder and a model server.
 *   script    what the model answers (see server.mjs)
 *   model     changes to the model, such as { contextWindow: 9000 }
 *   settings  changes to Pi's settings, such as { compaction: {…} }
 *   files     { "path in the project": text }
 *   name      the name of the project folder
 */
export async function makeWorkspace({ script, model = {}, settings = {}, files = {}, name = "work" } = {}) {
  const root = mkdtempSync(join(tmpdir(), "pi-test-"));
  const agentDir = join(root, "agent");
  const cwd = join(root, name);
  mkdirSync(agentDir);
  mkdirSync(cwd);
  const llm = await startModelServer({ script });
  const models = [{ ...MODEL, ...model }];
  writeJson(join(agentDir, "models.json"), { providers: { fake: { ...PROVIDER, baseUrl: llm.baseUrl, models } } });
  writeJson(join(agentDir, "settings.json"), { ...SETTINGS, ...settings });
  writeFiles(cwd, files);
  return {
    root,
    agentDir,
    cwd,
    llm,
    env: {
      PATH: process.env.PATH,
      HOME: root,
      LANG: "C.UTF-8",
      TERM: "dumb",
      PI_CODING_AGENT_DIR: agentDir,
      PI_OFFLINE: "1",
      PI_SKIP_VERSION_CHECK: "1",
      PI_TELEMETRY: "0",
    },
    sessionFiles: () => filesBelow(join(agentDir, "sessions"), ".jsonl"),
    readSession,
    async dispose({ keep = false } = {}) {
      await llm.close();
      if (!keep) rmSync(root, { recursive: true, force: true });
    },
  };
}

/** The event after which Pi does nothing more by itself. */
export const SETTLE = piIs("0.81") ? "agent_settled" : "agent_end";

export function piArguments(mode, { extensions, args }) {
  const model = ["--provider", "fake", "--model", "fake-1"];
  return [PI_CLI, ...mode, ...model, ...extensions.flatMap((path) => ["-e", path]), ...args];
}

/** Calls back for every line of a stream. Only LF ends a line: U+2028 may stand inside JSON. */
function onLines(stream, callback) {
  let parts = [];
  stream.setEncoding("utf8");
  stream.on("data", (data) => {
    const [first, ...more] = data.split("\n");
    parts.push(first);
    for (const next of more) {
      // Joined once: a line may be as long as a session.
      const line = parts.join("");
      parts = [next];
      if (line !== "") callback(line.replace(/\r$/, ""));
    }
  });
}

/** Rejects when the promise takes longer than `ms`; `explain` says what was waited for. */
export function within(ms, promise, explain) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(explain())), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/**
 * Starts `pi --mode rpc`.
 *   extensions  paths for -e, in the order in which Pi shall load them
 *   args, env   added to the command line and the environment
 *   under       a command that runs another, such as ["nice"]
 *   onDialog    answers dialogs: (request) => { value | confirmed | cancelled } or undefined
 */
export function startPiRpc(ws, { extensions = [], args = [], env = {}, under = [], timeoutMs = 30000, onDialog } = {}) {
  const [program, ...programArgs] = [...under, NODE_BIN, ...piArguments(["--mode", "rpc"], { extensions, args })];
  const child = spawn(program, programArgs, {
    cwd: ws.cwd,
    env: { ...ws.env, ...env },
    stdio: ["pipe", "pipe", "pipe"],
  });
  const events = [];
  const pending = new Map();
  const waiters = new Set();
  let stderr = "";
  let sent = 0;
  let exited;

  const exit = new Promise((resolve) => {
    child.on("exit", (code, signal) => {
      exited = { code, signal };
      const error = new Error(`Pi ended with ${code ?? signal}: ${stderr.slice(-2000)}`);
      for (const call of pending.values()) call.reject(error);
      for (const waiter of waiters) waiter.reject(error);
      resolve(exited);
    });
  });
  // Writing to a Pi that has just ended must not end the test run as well.
  child.stdin.on("error", () => {});
  child.stderr.on("data", (data) => {
    stderr += data;
  });

  const write = (record) => child.stdin.write(`${JSON.stringify(record)}\n`);

  function settleCall(response) {
    const call = pending.get(response.id);
    pending.delete(response.id);
    if (response.success) call.resolve(response);
    else call.reject(Object.assign(new Error(response.error), { response }));
  }

  function answerDialog(request) {
    const answer = onDialog?.(request);
    if (answer) write({ type: "extension_ui_response", id: request.id, ...answer });
  }

  onLines(child.stdout, (line) => {
    let record;
    try {
      record = JSON.parse(line);
    } catch {
      events.push({ type: "not_json", line });
      return;
    }
    if (record.type === "response" && pending.has(record.id)) return settleCall(record);
    events.push(record);
    if (record.type === "extension_ui_request") answerDialog(record);
    for (const waiter of [...waiters]) {
      if (!waiter.test(record)) continue;
      waiters.delete(waiter);
      waiter.resolve(record);
    }
  });

  const explain = (what) => () =>
    `Pi did not answer within ${timeoutMs} ms: ${what}; last events: ` +
    `${events
      .slice(-8)
      .map((event) => event.type)
      .join(" ")}; stderr: ${stderr.slice(-1500)}`;

  function send(command) {
    sent += 1;
    const id = `r${sent}`;
    const answer = new Promise((resolve, reject) => pending.set(id, { resolve, reject }));
    write({ id, ...command });
    return within(timeoutMs, answer, explain(JSON.stringify(command).slice(0, 200)));
  }

  /** The next record of that type, or the next for which the function says yes. */
  function waitFor(wanted, what = String(wanted)) {
    const test = typeof wanted === "string" ? (record) => record.type === wanted : wanted;
    const found = new Promise((resolve, reject) => waiters.add({ test, resolve, reject }));
    return within(timeoutMs, found, explain(what));
  }

  /** Sends a prompt and waits until Pi is idle again (at once when an extension handled it). */
  async function prompt(message, extra = {}) {
    let over = false;
    const settled = waitFor(SETTLE, `the end of the run of: ${message.slice(0, 60)}`).then(() => (over = true));
    settled.catch(() => {});
    const response = await send({ type: "prompt", message, ...extra });
    if (over || (await startedRun(response))) await settled;
    return response;
  }

  /** Whether a prompt led to a run. Pi before 0.99 does not say so; there a run has begun when the answer comes. */
  async function startedRun({ data }) {
    if (data?.disposition !== undefined) return data.disposition !== "handled";
    return (await send({ type: "get_state" })).data.isStreaming;
  }

  async function close() {
    if (!exited) child.stdin.end();
    const timer = setTimeout(() => child.kill("SIGKILL"), 5000);
    await exit;
    clearTimeout(timer);
    return exited;
  }

  return { pid: child.pid, events, send, waitFor, write, prompt, close, exit, stderr: () => stderr };
}

/** Runs `pi -p` once. `mode` is "text" or "json". */
export function runPiPrint(
  ws,
  message,
  { extensions = [], args = [], env = {}, mode = "text", timeoutMs = 30000 } = {},
) {
  return new Promise((resolve) => {
    const child = spawn(NODE_BIN, [...piArguments(["-p", "--mode", mode], { extensions, args }), message], {
      cwd: ws.cwd,
      env: { ...ws.env, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let stdout = "";
    let stderr = "";
    const timer = setTimeout(() => child.kill("SIGKILL"), timeoutMs);
    child.stdout.on("data", (data) => {
      stdout += data;
    });
    child.stderr.on("data", (data) => {
      stderr += data;
    });
    child.on("exit", (code, signal) => {
      clearTimeout(timer);
      resolve({ code, signal, stdout, stderr });
    });
  });
}
