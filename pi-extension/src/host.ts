// What every room of the extension shares during one session. Pi makes a new
// instance of the extension for each session, so nothing here outlives one.
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import type { ActiveSet } from "./active.ts";
import type { CommandDescriptions } from "./autocomplete.ts";
import type { BranchFacts } from "./branch.ts";
import type { LateNotices } from "./late-notices.ts";
import type { Launcher } from "./launcher.ts";
import type { Log } from "./log.ts";
import type { Notices } from "./notices.ts";
import type { ContextFile, Manifest } from "./protocol.ts";
import type { Recorder } from "./record.ts";

export interface Host {
  pi: ExtensionAPI;
  binary: string;
  manifest: Manifest;
  notices: Notices;
  lateNotices: LateNotices;
  launcher: Launcher;
  log: Log | undefined;
  recorder: Recorder | undefined;
  active: ActiveSet;
  descriptions: CommandDescriptions;
  branch: BranchFacts;
  /** Aborted when the session ends: from then on `pi` and every `ctx` are stale. */
  lifetime: AbortSignal;
  /** Pi hands these out only before a run and to commands; kept for the other events. */
  contextFiles: ContextFile[] | undefined;
  cancelOnFailure: boolean;
}
