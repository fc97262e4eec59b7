// The protocol's types as this host uses them: what the binary prints in its
// manifest and in its replies, and what it is given. protocol/README.md is the
// authority; fields this host only passes through stay `unknown`.

export const PROTOCOL = 1;

export interface Manifest {
  protocol: number;
  name: string;
  version: string;
  limits: { replyBytes: number };
  hooks: HookSpec[];
  tools: ToolSpec[];
  commands: CommandSpec[];
  promptSections: PromptSectionSpec[];
  messageTypes: MessageTypeSpec[];
}

export interface HookSpec {
  event: string;
  session: boolean;
  when?: string;
  timeoutMs: number;
  active: boolean;
}

export interface ToolSpec {
  name: string;
  label: string;
  description: string;
  parameters: object;
  promptSnippet?: string;
  promptGuidelines?: string[];
  executionMode?: "sequential" | "parallel";
  session: boolean;
  timeoutMs: number;
  active: boolean;
  callLine?: string;
}

export interface CommandSpec {
  name: string;
  description: string;
  completions?: string[][];
  session: boolean;
  timeoutMs: number;
}

export interface PromptSectionSpec {
  tag: string;
  text: string;
  active: boolean;
}

export interface MessageTypeSpec {
  customType: string;
  line: string;
}

export interface CompactionSettings {
  reserveTokens: number;
  keepRecentTokens: number;
}

export interface Cut {
  firstKeptEntryId: string;
  isSplitTurn: boolean;
  tokensBefore: number;
}

export interface ContextFile {
  path: string;
  content: string;
}

export type SessionRef =
  | { id: string; cwd: string; file: string; leafId: string | null }
  | { id: string; cwd: string; branch: readonly unknown[]; labels: Record<string, string> };

export type Answer = { value: unknown } | { cancelled: true } | { timedOut: true };

export type Completion =
  | { message: unknown }
  | { error: { kind: "noModel" | "unresolvedModel" | "provider"; message: string } };

export interface Envelope {
  protocol: number;
  event: string;
  host: {
    name: "pi";
    version: string;
    mode: string;
    hasUI: boolean;
    canInline: true;
    inRun: boolean;
    pendingMessages: boolean;
    agentDir: string;
    compaction?: CompactionSettings;
  };
  session?: SessionRef;
  cut?: Cut;
  model?: { provider: string; id: string; api: string; contextWindow: number };
  settings?: unknown;
  contextFiles?: ContextFile[];
  systemPrompt?: string;
  now?: number;
  files?: unknown;
  dryRun?: boolean;
  record?: boolean;
  payload: unknown;
  answers?: Record<string, Answer>;
  completion?: Completion;
  state?: unknown;
}

export interface CustomMessageSpec {
  customType: string;
  content: string | unknown[];
  display?: boolean;
  details?: unknown;
}

export interface ActiveChange {
  enable?: string[];
  disable?: string[];
}

export type Level = "info" | "warning" | "error";

/** A notice's message once more, for a host that can draw it. */
export interface Panel {
  title: string;
  rows: { label: string; text: string; level?: Level }[];
}

export type Effect =
  | { type: "notify"; level?: Level; message: string; panel?: Panel }
  | { type: "appendEntry"; customType: string; data?: unknown }
  | {
      type: "sendMessage";
      message: CustomMessageSpec;
      deliverAs?: "steer" | "followUp" | "nextTurn";
      triggerTurn?: boolean;
    }
  | ({ type: "setActive" } & ActiveChange)
  | { type: "setStatus"; key: string; text?: string | null }
  | { type: "describeCommand"; command: string; text: string };

export interface Ask {
  id: string;
  kind: "select" | "confirm" | "input";
  title: string;
  message?: string;
  options?: string[];
  timeoutMs: number;
}

export interface CompleteRequest {
  model?: string;
  systemPrompt?: string;
  messages: Record<string, unknown>[];
  tools?: unknown[];
  maxTokens?: number;
  sessionId?: string;
  timeoutMs: number;
}

export interface ReplyError {
  code: string;
  message: string;
  hint?: string;
}

export interface Reply {
  protocol: number;
  result?: unknown;
  effects?: Effect[];
  ask?: Ask;
  complete?: CompleteRequest;
  resolved?: { settings?: unknown; files?: unknown };
  progress?: string;
  stepsLeft?: number;
  state?: unknown;
  error?: ReplyError;
}

/** Why there is no usable reply. `cause` is what "one notice per cause" counts by. */
export interface Failure {
  cause: string;
  text: string;
}
