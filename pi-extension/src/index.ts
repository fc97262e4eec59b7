// The extension's entry: asks the binary what it wants and wires it to Pi. Which
// binary that is and what it does with Pi's events, nothing in this package knows.
import type {
  BeforeAgentStartEvent,
  ExtensionAPI,
  SessionBeforeCompactResult,
  SessionCompactEvent,
} from "@earendil-works/pi-coding-agent";
import { ActiveSet } from "./active.ts";
import { CommandDescriptions } from "./autocomplete.ts";
import { BranchFacts } from "./branch.ts";
import { registerCommands } from "./commands.ts";
import { CompactionHook } from "./compaction.ts";
import { guarded } from "./guard.ts";
import { Hooks } from "./hooks.ts";
import type { Host } from "./host.ts";
import { LateNotices } from "./late-notices.ts";
import { Launcher } from "./launcher.ts";
import { openLog } from "./log.ts";
import { loadManifest } from "./manifest.ts";
import { registerMessageTypes } from "./message-types.ts";
import { Notices } from "./notices.ts";
import { isTooOld, OLDEST_PI, PI_VERSION } from "./pi-compat.ts";
import { preparePrompt } from "./prompt.ts";
import type { Manifest } from "./protocol.ts";
import { openRecorder } from "./record.ts";
import { registerTools } from "./tools.ts";

const NAME = "pi-stet";

export default async function extension(pi: ExtensionAPI): Promise<void> {
  if (isTooOld(PI_VERSION)) {
    const notices = new Notices(NAME);
    pi.on("session_start", (_event, ctx) => notices.oldPi(ctx, PI_VERSION, OLDEST_PI));
    return;
  }
  const onFailure = process.env.PI_STET_ON_FAILURE || "summary";
  const cancelOnFailure = onFailure === "cancel";
  if (!cancelOnFailure && onFailure !== "summary") {
    const notices = new Notices(NAME);
    pi.on("session_start", (_event, ctx) => notices.badSetting(ctx, "PI_STET_ON_FAILURE", onFailure, "summary"));
  }
  const startup = await loadManifest(process.env);
  if ("problem" in startup) standAside(pi, startup, cancelOnFailure);
  else wire(pi, startup, cancelOnFailure);
}

function standAside(pi: ExtensionAPI, { problem, mend }: { problem: string; mend: string }, cancel: boolean): void {
  const notices = new Notices(NAME);
  pi.on("session_start", (_event, ctx) => notices.unusable(ctx, problem, mend));
  // Who never wants a model call does not want one for a missing binary either.
  if (cancel) pi.on("session_before_compact", (): SessionBeforeCompactResult => ({ cancel: true }));
}

function wire(pi: ExtensionAPI, { binary, manifest }: { binary: string; manifest: Manifest }, cancelOnFailure: boolean): void {
  const ending = new AbortController();
  const notices = new Notices(manifest.name);
  const host: Host = {
    pi,
    binary,
    manifest,
    notices,
    lateNotices: new LateNotices(ending.signal),
    launcher: new Launcher(),
    log: openLog(process.env.PI_STET_LOG),
    recorder: openRecorder(process.env.PI_STET_RECORD),
    active: new ActiveSet(pi, manifest, {
      subscribeHook: (event) => hooks.subscribe(event),
      unknown: (ctx, name) => notices.unknownToHost(ctx, `"${name}"`),
    }),
    descriptions: new CommandDescriptions(),
    branch: new BranchFacts(),
    lifetime: ending.signal,
    contextFiles: undefined,
    cancelOnFailure,
  };
  const compaction = new CompactionHook(host);
  const hooks = new Hooks(host, compaction);

  // Ours come first, so that they have run before any hook of the binary does.
  let unknownHooks: string[] = [];
  pi.on("session_start", (_event, ctx) =>
    guarded(host, ctx, () => {
      // Not worth it for one question.
      if (ctx.mode === "tui" || ctx.mode === "rpc") host.launcher.start();
      host.active.sessionStarted(!host.branch.hasSystemMessage.holds(ctx.sessionManager));
      for (const event of unknownHooks) notices.unknownToHost(ctx, `the event ${event}`);
    }),
  );
  pi.on("session_tree", (_event, ctx) => guarded(host, ctx, () => host.active.toolsRestored(false)));
  pi.on("before_agent_start", (event: BeforeAgentStartEvent, ctx) =>
    guarded(host, ctx, () => preparePrompt(host, event)),
  );
  pi.on("session_compact", (event: SessionCompactEvent, ctx) =>
    guarded(host, ctx, () => {
      hooks.saved = compaction.saved(event, ctx);
    }),
  );
  pi.on("session_compact_failed", () => compaction.failed());
  pi.on("session_shutdown", () => {
    ending.abort();
    host.launcher.end();
  });

  registerTools(host);
  registerCommands(host);
  registerMessageTypes(host);
  unknownHooks = host.active.start();

  // And these last, so that the hooks of the binary have run.
  pi.on("session_compact", () => host.lateNotices.release());
  pi.on("session_compact_failed", () => host.lateNotices.release());
}
