#!/usr/bin/env node
// Stands in for our binary, and lets something go wrong on the way to it: between
// Pi's event and the reading of the session, while it runs, or with the machine.
//   MEDDLER_BINARY  the real one
//   MEDDLER_FAULT   file with { does?, on?, with?, limitMs? }, read at each run:
//                     does     what goes wrong, by its name below
//                     on       the event with which it does (default: session_before_compact)
//                     with     what the fault needs besides
//                     limitMs  the time limit of every hook in the manifest
//   MEDDLER_LOG     file that gets a line for every run of the event with the fault:
//                     { does, by: "file" or "branch", status, killedBy, error: its code }
// A change to the session file is undone once the real binary has answered, so that
// what Pi reads and writes itself is never the fault's. The one exception is noRoom:
// there Pi finds a full disk in the file's place, and FILE.kept is the test's to put back.
import { spawn, spawnSync } from "node:child_process";
import { appendFileSync, copyFileSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync, writeSync } from "node:fs";

const { MEDDLER_BINARY: binary, MEDDLER_FAULT, MEDDLER_LOG } = process.env;
const fault = JSON.parse(readFileSync(MEDDLER_FAULT, "utf8"));
const [, , ...args] = process.argv;

const lines = (file) => readFileSync(file, "utf8").trimEnd().split("\n");
const write = (file, all) => writeFileSync(file, `${all.join("\n")}\n`);

/** What becomes of the session file, while the binary runs. */
const FILE_FAULTS = {
  lastLinesGone: (file) => write(file, lines(file).slice(0, -2)),
  lastLineCut: (file) => writeFileSync(file, readFileSync(file).subarray(0, -40)),
  lineOverwritten: (file) => write(file, lines(file).with(5, "\0".repeat(80))),
  emptied: (file) => writeFileSync(file, ""),
  otherHeader: (file) => write(file, [JSON.stringify({ ...JSON.parse(lines(file)[0]), id: "0199a000-0000-7000-8000-0000000000ff" }), ...lines(file).slice(1)]),
  otherSession: (file) => copyFileSync(fault.with, file),
  otherText: (file) => writeFileSync(file, "Dear diary,\ntoday nothing was compacted.\n"),
  gone: (file) => rmSync(file),
  folder: (file) => (rmSync(file), mkdirSync(file)),
  pipe: (file) => (rmSync(file), spawnSync("mkfifo", [file])),
  newFile: (file) => (copyFileSync(file, `${file}.new`), renameSync(`${file}.new`, file)),
  grown: (file) => appendFileSync(file, `${fault.with}\n`),
};

/** What becomes of the envelope. */
const ENVELOPE_FAULTS = {
  otherLeaf: (envelope) => ({ ...envelope, session: { ...envelope.session, leafId: "ffffffff" } }),
  dayBefore: (envelope) => ({ ...envelope, now: Date.now() - 86_400_000 }),
};

/** How the binary is run: the program and its arguments. */
const RUN_FAULTS = {
  noMemory: ["sh", "-c", 'ulimit -v 3000; exec "$0" "$@"', binary, ...args],
  slow: ["sh", "-c", 'sleep 30; exec "$0" "$@"', binary, ...args],
  standsStill: ["sh", "-c", 'kill -STOP $$; exec "$0" "$@"', binary, ...args],
  killed: ["sh", "-c", "kill -KILL $$"],
  nothingAnswered: ["sh", "-c", "cat > /dev/null"],
  halfAnswered: ["sh", "-c", '"$0" "$@" | head -c 300', binary, ...args],
};

/** Gives what goes back to the file as it was. */
function meddleWithFile(file, change) {
  const kept = `${file}.kept`;
  copyFileSync(file, kept);
  change(file);
  return () => {
    rmSync(file, { recursive: true, force: true });
    renameSync(kept, file);
  };
}

/** Whatever is written there next finds no room. */
function fillDisk(file) {
  renameSync(file, `${file}.kept`);
  symlinkSync("/dev/full", file);
}

/** The file is cut and made whole again, over and over, while the binary reads it. */
function meddleMeanwhile(file) {
  const script = 'cp "$1" "$1.kept"; while :; do : > "$1"; cat "$1.kept" > "$1"; done';
  const child = spawn("sh", ["-c", script, "sh", file], { stdio: "ignore" });
  // Once the copy is there.
  for (let size = -1; size !== readFileSync(file).length; ) size = existing(`${file}.kept`);
  return () => {
    child.kill("SIGKILL");
    renameSync(`${file}.kept`, file);
  };
}

function existing(file) {
  try {
    return readFileSync(file).length;
  } catch {
    return -1;
  }
}

function hook() {
  const input = readFileSync(0, "utf8");
  const envelope = JSON.parse(input);
  const { does, on = "session_before_compact" } = fault;
  if (!does || envelope.event !== on) return run([binary, ...args], input);
  const { file } = envelope.session ?? {};
  let undo = () => {};
  // What stands in the envelope itself no fault of a file can reach.
  if (file !== undefined && does in FILE_FAULTS) undo = meddleWithFile(file, FILE_FAULTS[does]);
  if (file !== undefined && does === "noRoom") undo = () => fillDisk(file);
  if (file !== undefined && does === "rewrittenMeanwhile") undo = meddleMeanwhile(file);
  const sent = file !== undefined && does in ENVELOPE_FAULTS ? JSON.stringify(ENVELOPE_FAULTS[does](envelope)) : input;
  const { stdout, status, signal } = run(RUN_FAULTS[does] ?? [binary, ...args], sent, undo);
  note({ does, by: file === undefined ? "branch" : "file", status, killedBy: signal, error: errorCode(stdout) });
}

function run([program, ...programArgs], input, then = () => {}) {
  const result = spawnSync(program, programArgs, { input, maxBuffer: 2 ** 30 });
  then();
  const { stdout, stderr, status, signal } = result;
  writeSync(2, stderr);
  for (let at = 0; at < stdout.length; ) at += writeSync(1, stdout, at);
  process.exitCode = status ?? 128;
  if (signal) process.on("exit", () => process.kill(process.pid, signal));
  return result;
}

function errorCode(stdout) {
  try {
    return JSON.parse(stdout).error?.code;
  } catch {
    return "no JSON";
  }
}

const note = (record) => appendFileSync(MEDDLER_LOG, `${JSON.stringify(record)}\n`);

if (args[0] === "hook") hook();
else {
  const manifest = JSON.parse(spawnSync(binary, args, { encoding: "utf8" }).stdout);
  if (fault.limitMs) for (const spec of manifest.hooks) spec.timeoutMs = fault.limitMs;
  writeSync(1, JSON.stringify(manifest));
}
