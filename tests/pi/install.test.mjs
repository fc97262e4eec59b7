// The packages for npm: packed, installed by Pi from a registry, used, removed.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { promisify } from "node:util";
import { pack, PLATFORMS } from "../../pi-extension/release/pack.mjs";
import { BINARY, prose } from "./chat.mjs";
import { Conversation, OFF_SCRIPT } from "./harness/conversation.mjs";
import { makeWorkspace, NODE_BIN, PI_CLI, readSession, REPO_DIR } from "./harness/harness.mjs";
import { startRegistry } from "./harness/registry.mjs";

const HERE = `${process.platform}-${process.arch}`;
const run = promisify(execFile);

/** A registry with the packages, for this platform and one that is not this machine's. */
async function registry(t) {
  const folder = mkdtempSync(join(tmpdir(), "pi-test-packages-"));
  const other = PLATFORMS.find((platform) => platform !== HERE);
  const served = await startRegistry(pack(folder, { [other]: BINARY, [HERE]: BINARY }));
  t.after(async () => {
    await served.close();
    rmSync(folder, { recursive: true });
  });
  return served;
}

async function workspace(t, registryUrl) {
  const ws = await makeWorkspace({
    model: { contextWindow: 200_000 },
    settings: { compaction: { enabled: false, reserveTokens: 4000, keepRecentTokens: 300 } },
    script: { fallback: OFF_SCRIPT },
  });
  t.after(() => ws.dispose());
  // No other binary may be found: what runs must come out of the package.
  const path = ws.env.PATH.split(":").filter((dir) => !existsSync(join(dir, "pi-stet")));
  ws.env = { ...ws.env, PATH: path.join(":"), npm_config_registry: registryUrl, npm_config_audit: "false", npm_config_update_notifier: "false" };
  delete ws.env.PI_OFFLINE;
  const pi = async (...words) => {
    const { stdout, stderr } = await run(NODE_BIN, [PI_CLI, ...words], { cwd: ws.cwd, env: ws.env, timeout: 120_000, killSignal: "SIGKILL" });
    return stdout + stderr;
  };
  return { ws, pi };
}

async function compacts(t, ws) {
  const chat = new Conversation(ws, { extensions: [], args: [], env: {} });
  t.after(() => chat.close());
  await chat.user("What about rain?", ["It rains."]);
  await chat.user(prose("the kept question", 800), [prose("the kept answer", 800)]);
  await chat.compact();
  const file = await chat.sessionFile();
  await chat.close();
  return { file, compaction: readSession(file).find((entry) => entry.type === "compaction") };
}

test("pi install, compact, pi remove: with the binary of this platform alone", async (t) => {
  const { url, missing } = await registry(t);
  const { ws, pi } = await workspace(t, url);
  await pi("install", "npm:pi-stet");
  assert.deepEqual(missing, [], "nothing else is asked for");
  const modules = join(ws.agentDir, "npm", "node_modules");
  assert.ok(existsSync(join(modules, `pi-stet-${HERE}`, "bin")));
  const other = PLATFORMS.find((platform) => platform !== HERE);
  assert.ok(!existsSync(join(modules, `pi-stet-${other}`)), `${other} is not for this machine`);
  assert.match(await pi("list"), /npm:pi-stet/);

  const { file, compaction } = await compacts(t, ws);
  assert.equal(compaction.details.kind, "stet.verbatim");
  assert.match(compaction.summary, /^\[User\]: What about rain\?$/m);

  await pi("remove", "npm:pi-stet");
  assert.ok(!existsSync(join(modules, "pi-stet")));
  const chat = new Conversation(ws, { extensions: [], args: ["--session", file], env: {} });
  t.after(() => chat.close());
  await chat.user("What now?", ["Now we go on."]);
  const request = JSON.stringify(ws.llm.requests().at(-1));
  assert.ok(request.includes("[User]: What about rain?"), "the checkpoint is still read");
});

test("npm install -g of the platform's package gives the shell commands", async (t) => {
  const { url } = await registry(t);
  const { ws } = await workspace(t, url);
  const prefix = join(ws.root, "global");
  await run("npm", ["install", "-g", "--prefix", prefix, `pi-stet-${HERE}`], { cwd: ws.cwd, env: ws.env, timeout: 120_000, killSignal: "SIGKILL" });
  const { stdout } = await run(join(prefix, "bin", "pi-stet"), ["--version"]);
  assert.match(stdout, /^pi-stet \d/);
});

test("crate and extension have one version, and the package names no other binary", () => {
  const cargo = readFileSync(join(REPO_DIR, "Cargo.toml"), "utf8");
  const extension = JSON.parse(readFileSync(join(REPO_DIR, "pi-extension", "package.json"), "utf8"));
  assert.equal(/^version = "(.*)"$/m.exec(cargo)[1], extension.version);
  const workflow = readFileSync(join(REPO_DIR, ".github", "workflows", "release.yml"), "utf8");
  for (const platform of PLATFORMS) assert.ok(workflow.includes(`${platform}=binaries/${platform}/`), platform);
});

test("pack.mjs says what it wants", async () => {
  const script = join(REPO_DIR, "pi-extension", "release", "pack.mjs");
  for (const [words, why] of [
    [[], /give a folder and at least one binary/],
    [["--out", "x", "beos-x64=y"], /beos-x64 is no platform/],
    [["--out", "x", "linux-x64=nowhere"], /there is no binary nowhere for linux-x64/],
  ]) {
    await assert.rejects(run(NODE_BIN, [script, ...words]), (error) => {
      assert.equal(error.code, 2);
      return why.test(error.stderr);
    });
  }
});
