// What differs between releases of Pi, in one place. Feature tests where there
// is a feature to test; the version number only where there is none.
import * as pi from "@earendil-works/pi-coding-agent";
import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import type { CompactionSettings } from "./protocol.ts";

export const OLDEST_PI = "0.87.0";
export const PI_VERSION: string = pi.VERSION ?? "unknown";

/** Context edits, boundary entries and `context_with_system` came with 0.87. */
export function isTooOld(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major === 0 && minor < 87;
}

export function agentDir(): string {
  return pi.getAgentDir();
}

export type Unsubscribe = () => void;

/** `pi.on` by a name that only the manifest knows. */
export function subscribe<E>(
  api: ExtensionAPI,
  event: string,
  handler: (event: E, ctx: ExtensionContext) => unknown,
): Unsubscribe {
  const on = api.on as unknown as (event: string, handler: (event: E, ctx: ExtensionContext) => unknown) => Unsubscribe;
  return on.call(api, event, handler);
}

/** Before 0.99 Pi ignores `isError` on a result: there a tool fails only by throwing. */
export function takesErrorResults(toolContext: object): boolean {
  return "executeTool" in toolContext;
}

/** `defaultActive` came with the exposure of tools, in 0.99; before, every registered tool is active. */
export function knowsDefaultActive(api: ExtensionAPI): boolean {
  return api.getAllTools().some((tool) => "exposure" in tool);
}

const COMPACTION_DEFAULTS: CompactionSettings = { reserveTokens: 16384, keepRecentTokens: 20000 };

/** Pi's compaction settings for the model: its override, the ordinary setting, the default. */
export function compactionSettings(api: ExtensionAPI, ctx: ExtensionContext): CompactionSettings {
  if (typeof api.getSettings !== "function") {
    const { reserveTokens, keepRecentTokens } = settingsFiles(api, ctx).getCompactionSettings(ctx.model);
    return { reserveTokens, keepRecentTokens };
  }
  const settings = api.getSettings().compaction;
  const override = ctx.model && settings?.modelOverrides?.[`${ctx.model.provider}/${ctx.model.id}`];
  const value = (field: keyof CompactionSettings) =>
    override?.[field] ?? settings?.[field] ?? COMPACTION_DEFAULTS[field];
  return { reserveTokens: value("reserveTokens"), keepRecentTokens: value("keepRecentTokens") };
}

const files = new WeakMap<ExtensionAPI, pi.SettingsManager>();

/** Before 0.99 Pi does not hand its settings out: there its files are read, once in a session. */
function settingsFiles(api: ExtensionAPI, ctx: ExtensionContext): pi.SettingsManager {
  const known = files.get(api);
  if (known) return known;
  const read = pi.SettingsManager.create(ctx.cwd, pi.getAgentDir(), { projectTrusted: ctx.isProjectTrusted() });
  files.set(api, read);
  return read;
}
