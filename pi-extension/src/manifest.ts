// Finding the binary and asking it what it wants registered.
import { runChild } from "./child.js";
import { findBinary, quoted } from "./find-binary.ts";
import { type Manifest, PROTOCOL } from "./protocol.ts";

const TIMEOUT_MS = 5000;
const MAX_BYTES = 4 * 1024 * 1024;
const DEFAULT_REPLY_BYTES = 256 * 1024 * 1024;

export type Startup = { binary: string; manifest: Manifest } | { problem: string; mend: string };

export async function loadManifest(env: NodeJS.ProcessEnv): Promise<Startup> {
  const found = findBinary(env);
  if ("missing" in found) return { problem: found.missing, mend: found.mend };
  const binary = found.path;
  const result = await runChild({ binary, args: ["manifest"], timeoutMs: TIMEOUT_MS, maxStdoutBytes: MAX_BYTES });
  if (result.kind === "unstartable") {
    const mend = result.code === "EACCES" ? `chmod +x ${quoted(binary)}` : "build or install it again";
    return { problem: `${binary} cannot be started (${result.code})`, mend };
  }
  if (result.kind !== "exited" || result.status !== 0) {
    return { problem: `${binary} printed no manifest`, mend: `run \`${quoted(binary)} manifest\` to see why` };
  }
  const manifest = parse(result.stdout);
  if (!manifest) {
    return { problem: `what ${binary} printed is no manifest`, mend: `run \`${quoted(binary)} manifest\` to see it` };
  }
  if (manifest.protocol !== PROTOCOL) {
    return {
      problem: `${binary} speaks protocol ${manifest.protocol}, this extension protocol ${PROTOCOL}`,
      mend: "install the extension and the binary from the same release (`pi update`, then build or install the binary again)",
    };
  }
  return { binary, manifest };
}

function parse(text: string): Manifest | undefined {
  let raw: Partial<Manifest> | null;
  try {
    raw = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof raw !== "object" || raw === null || typeof raw.protocol !== "number") return undefined;
  return {
    protocol: raw.protocol,
    name: raw.name ?? "pi-stet",
    version: raw.version ?? "",
    limits: { replyBytes: raw.limits?.replyBytes ?? DEFAULT_REPLY_BYTES },
    hooks: raw.hooks ?? [],
    tools: raw.tools ?? [],
    commands: raw.commands ?? [],
    promptSections: raw.promptSections ?? [],
    messageTypes: raw.messageTypes ?? [],
  };
}
