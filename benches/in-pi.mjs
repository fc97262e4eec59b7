#!/usr/bin/env node
// What the extension costs inside Pi: how long Pi waits for its handlers, and how long it
// keeps Pi's event loop from turning. In real Pi, on generated sessions; prints tables in
// Markdown. The rows of "none" are no extension at all: what the measuring itself costs.
//
//   cargo build --release
//   pi-extension/node_modules/.bin/node benches/in-pi.mjs
//
//   RUNS=15               runs of each compaction
//   SIZES=2.4,100,100x8   sessions in MB; 100x8 has been compacted eight times, up to its last MB
//   EXTENSIONS=A=PATH,…   other extensions to measure beside ours, by name: a file or folder, or
//                         npm:PACKAGE, which is installed for it
//   PI_ROOT, PI_STET_BIN  another Pi, another binary (see tests/pi/README.md)
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { makeWorkspace, PI_VERSION, REPO_DIR, startPiRpc } from "../tests/pi/harness/harness.mjs";
import { writeLongSession } from "../tests/pi/long-session.mjs";

const BINARY = process.env.PI_STET_BIN ?? join(REPO_DIR, "target", "release", "pi-stet");
const RUNS = Number(process.env.RUNS ?? "15");
const SIZES = (process.env.SIZES ?? "2.4,100,100x8").split(",");
const OTHERS = (process.env.EXTENSIONS ?? "").split(",").filter(Boolean).map((other) => {
  const [name, source] = other.split("=");
  if (!source) throw new Error(`EXTENSIONS: ${other} is not NAME=PATH or NAME=npm:PACKAGE`);
  return [name, source.startsWith("npm:") ? installed(source.slice("npm:".length)) : resolve(source)];
});
const SUBJECTS = [["none"], ["pi-stet", join(REPO_DIR, "pi-extension")], ...OTHERS];

if (!existsSync(BINARY)) throw new Error(`there is no ${BINARY}: run \`cargo build --release\``);

/** Where a package lies that npm has installed, without what Pi itself brings. */
function installed(specifier) {
  const folder = join(REPO_DIR, "target", "tmp", "in-pi");
  mkdirSync(folder, { recursive: true });
  execFileSync("npm", ["install", "--prefix", folder, "--no-save", "--no-audit", "--no-fund", "--omit=peer", "--legacy-peer-deps", "--loglevel=error", specifier], { stdio: ["ignore", "ignore", "inherit"] });
  const name = specifier.replace(/(?<=.)@[^@/]*$/, "");
  return join(folder, "node_modules", name);
}

function writeSession(file, cwd, size) {
  const [megabytes, compactions = "0"] = size.split("x");
  const compact = () => JSON.parse(execFileSync(BINARY, ["compact", file, "--json", "--cap", "off"], { maxBuffer: 2 ** 30, stdio: ["ignore", "pipe", "ignore"] }));
  writeLongSession(file, { cwd, bytes: Number(megabytes) * 1e6, output: 22_000, compactions: Number(compactions), compact });
}

async function measure(size, [name, extension]) {
  const ws = await makeWorkspace({
    // Pi must not compact by itself, nor the size guard trim.
    model: { contextWindow: 100_000_000, maxTokens: 1000 },
    settings: { compaction: { enabled: false, reserveTokens: 16_384, keepRecentTokens: 20_000 } },
  });
  try {
    const dir = join(ws.agentDir, "sessions", "given");
    mkdirSync(dir, { recursive: true });
    const session = join(dir, "session.jsonl");
    writeSession(session, ws.cwd, size);
    const log = join(ws.root, "probe.jsonl");
    writeFileSync(log, "");
    const probe = (which) => join(REPO_DIR, "benches", "in-pi", `${which}.ts`);
    const pi = startPiRpc(ws, {
      extensions: [probe("first"), ...(extension ? [extension] : []), probe("second")],
      args: ["--session", session],
      env: { PI_STET_BIN: BINARY, PROBE_LOG: log, PI_STET_MAX_SUMMARY_PERCENT: "100" },
      timeoutMs: 300_000,
    });
    try {
      await drive(pi, ws.llm, extension !== undefined);
    } finally {
      await pi.close();
    }
    return readFileSync(log, "utf8").split("\n").filter(Boolean).map((line) => ({ name, ...JSON.parse(line) }));
  } finally {
    await ws.dispose();
  }
}

/** A run, compactions that are cancelled when measured, one that is not, and runs after it with a search. */
async function drive(pi, llm, hasExtension) {
  await pi.prompt("Hello.");
  await pi.prompt("/probe cancel on");
  for (let run = 0; run < RUNS; run += 1) await pi.send({ type: "compact" }).catch(() => {});
  if (!hasExtension) return;
  await pi.prompt("/probe cancel off");
  await pi.send({ type: "compact" });
  const offered = () => llm.requests().at(-1).body.tools.map((tool) => tool.function.name);
  for (let run = 0; run < RUNS; run += 1) {
    if (offered().includes("context_grep")) llm.addSteps({ toolCalls: [{ name: "context_grep", arguments: { pattern: "Request 7:" } }] });
    llm.addSteps({ text: "Yes." });
    await pi.prompt(`And now, ${run}?`);
  }
}

const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
const ms = (value) => `${value.toFixed(1)} ms`;

function printTable(size, records) {
  console.log(`\nA session of ${size.replace("x", " MB, compacted this often: ")}${size.includes("x") ? "" : " MB"}\n`);
  console.log("| extension | event | times | Pi waits (median) | (worst) | event loop stands (median) | (worst) |");
  console.log("|---|---|---|---|---|---|---|");
  for (const [key, group] of Map.groupBy(records, ({ name, event }) => `${name} | ${event}`)) {
    const waits = group.map((record) => record.ms);
    const blocks = group.map((record) => record.blockMs);
    const cells = [group.length, ms(median(waits)), ms(Math.max(...waits)), ms(median(blocks)), ms(Math.max(...blocks))];
    console.log(`| ${key} | ${cells.join(" | ")} |`);
  }
}

console.log(`Pi ${PI_VERSION}, ${RUNS} runs. The monitor of the event loop ticks about every millisecond: that much is its own.`);
for (const size of SIZES) {
  const records = [];
  for (const subject of SUBJECTS) records.push(...(await measure(size, subject)));
  printTable(size, records);
}
