// The envelope of one step, made from what Pi knows at this moment.
import { existsSync } from "node:fs";
import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import { labelsOf } from "./branch.ts";
import type { Host } from "./host.ts";
import { agentDir, compactionSettings, PI_VERSION } from "./pi-compat.ts";
import {
  type Answer,
  type CompactionSettings,
  type Completion,
  type Cut,
  type Envelope,
  PROTOCOL,
  type SessionRef,
} from "./protocol.ts";

/** What a call says of itself; the same on each of its steps. */
export interface Request {
  event: string;
  payload: unknown;
  session: boolean;
  /** Whether the prompt's files and text are worth their bytes: not on events of every request. */
  prompt: boolean;
  cut?: Cut;
  compaction?: CompactionSettings;
}

/** What earlier steps of the same call have brought. */
export interface Progress {
  answers?: Record<string, Answer>;
  completion?: Completion;
  state?: unknown;
}

export function buildEnvelope(
  host: Host,
  ctx: ExtensionContext,
  request: Request,
  progress: Progress,
  session: SessionRef | undefined,
): Envelope {
  return {
    protocol: PROTOCOL,
    event: request.event,
    host: {
      name: "pi",
      version: PI_VERSION,
      mode: ctx.mode,
      hasUI: ctx.hasUI,
      canInline: true,
      // isIdle() says nothing inside the hooks; the signal of a run does.
      inRun: ctx.signal !== undefined,
      pendingMessages: ctx.hasPendingMessages(),
      agentDir: agentDir(),
      compaction: request.compaction ?? compactionSettings(host.pi, ctx),
    },
    session,
    cut: request.cut,
    model: modelOf(ctx),
    ...(request.prompt ? promptOf(host, ctx) : {}),
    ...(host.recorder ? { record: true, now: Date.now() } : {}),
    payload: request.payload,
    ...progress,
  };
}

/** By reference wherever a file exists: serialising a long session would block Pi. */
export function sessionByReference(ctx: ExtensionContext): SessionRef {
  const sessions = ctx.sessionManager;
  const file = sessions.getSessionFile();
  // Pi plans the path long before the first message makes it write the file.
  if (file === undefined || !existsSync(file)) return sessionInline(ctx);
  return { id: sessions.getSessionId(), cwd: sessions.getCwd(), file, leafId: sessions.getLeafId() };
}

export function sessionInline(ctx: ExtensionContext): SessionRef {
  const sessions = ctx.sessionManager;
  const branch = sessions.getBranch();
  return { id: sessions.getSessionId(), cwd: sessions.getCwd(), branch, labels: labelsOf(sessions, branch) };
}

function modelOf(ctx: ExtensionContext): Envelope["model"] {
  const { model } = ctx;
  if (!model) return undefined;
  // A virtual model has no window of its own; Pi then counts with that of the model that answered last.
  const contextWindow = model.contextWindow || ctx.getContextUsage()?.contextWindow || 0;
  return { provider: model.provider, id: model.id, api: model.api, contextWindow };
}

function promptOf(host: Host, ctx: ExtensionContext): Pick<Envelope, "contextFiles" | "systemPrompt"> {
  return {
    contextFiles: host.contextFiles,
    systemPrompt: host.branch.hasSystemMessage.holds(ctx.sessionManager) ? undefined : ctx.getSystemPrompt(),
  };
}
