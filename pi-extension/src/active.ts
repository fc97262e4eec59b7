// Which of our hooks, tools and prompt sections are switched on. A hook that is
// off is not subscribed: Pi prepares costly data for events that have listeners.
import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import type { ActiveChange, Manifest, PromptSectionSpec } from "./protocol.ts";
import { knowsDefaultActive, type Unsubscribe } from "./pi-compat.ts";

export interface Switches {
  /** Subscribes a hook of the manifest; undefined when this host does not know its event. */
  subscribeHook(event: string): Unsubscribe | undefined;
  unknown(ctx: ExtensionContext, name: string): void;
}

export class ActiveSet {
  private readonly pi: ExtensionAPI;
  private readonly manifest: Manifest;
  private readonly switches: Switches;
  private readonly hooks = new Map<string, Unsubscribe>();
  private readonly sections = new Set<string>();
  private readonly tools: ToolSwitches;

  constructor(pi: ExtensionAPI, manifest: Manifest, switches: Switches) {
    this.pi = pi;
    this.manifest = manifest;
    this.switches = switches;
    this.tools = new ToolSwitches(manifest.tools.map((tool) => tool.name));
    for (const section of manifest.promptSections) if (section.active) this.sections.add(section.tag);
  }

  /** Subscribes the hooks that are on from the start; returns the events this host does not know. */
  start(): string[] {
    const initial = this.manifest.hooks.filter((hook) => hook.active).map((hook) => hook.event);
    return initial.filter((event) => !this.hookOn(event));
  }

  activeSections(): PromptSectionSpec[] {
    return this.manifest.promptSections.filter((section) => this.sections.has(section.tag));
  }

  /** `fresh`: the session has no transcript yet from which Pi restored the tools. */
  sessionStarted(fresh: boolean): void {
    const off = this.manifest.tools.filter((tool) => !tool.active).map((tool) => tool.name);
    if (off.length > 0 && !knowsDefaultActive(this.pi)) {
      this.pi.setActiveTools(this.pi.getActiveTools().filter((name) => !off.includes(name)));
    }
    this.toolsRestored(fresh);
  }

  /** Pi has just set the tools itself: from its settings, or as the transcript has them. */
  toolsRestored(fresh: boolean): void {
    const expected = this.manifest.tools.filter((tool) => tool.active).map((tool) => tool.name);
    this.tools.restored(new Set(this.pi.getActiveTools()), fresh ? new Set(expected) : undefined);
  }

  change(ctx: ExtensionContext, { enable = [], disable = [] }: ActiveChange): void {
    for (const name of disable) this.turn(ctx, name, false);
    for (const name of enable) this.turn(ctx, name, true);
    const active = this.pi.getActiveTools();
    const next = this.tools.next(active, enable, disable);
    if (next) this.pi.setActiveTools(next);
  }

  private turn(ctx: ExtensionContext, name: string, on: boolean): void {
    if (this.manifest.tools.some((tool) => tool.name === name)) return;
    if (this.manifest.promptSections.some((section) => section.tag === name)) {
      if (on) this.sections.add(name);
      else this.sections.delete(name);
    } else if (this.manifest.hooks.some((hook) => hook.event === name)) {
      if (!on) this.hookOff(name);
      else if (!this.hookOn(name)) this.switches.unknown(ctx, name);
    } else {
      this.switches.unknown(ctx, name);
    }
  }

  private hookOn(event: string): boolean {
    if (this.hooks.has(event)) return true;
    const unsubscribe = this.switches.subscribeHook(event);
    if (unsubscribe) this.hooks.set(event, unsubscribe);
    return unsubscribe !== undefined;
  }

  private hookOff(event: string): void {
    this.hooks.get(event)?.();
    this.hooks.delete(event);
  }
}

/**
 * Our tools among Pi's active ones. A tool that we left on and that is found
 * off was turned off by the user (or by what the user installed): it stays off
 * until it is found on again.
 */
class ToolSwitches {
  private readonly ours: readonly string[];
  private left = new Set<string>();
  private readonly userOff = new Set<string>();

  constructor(ours: readonly string[]) {
    this.ours = ours;
  }

  /** `expected` is what Pi activates by itself in a session that has no transcript yet. */
  restored(active: ReadonlySet<string>, expected: ReadonlySet<string> | undefined): void {
    this.left = new Set(expected ?? active);
    this.observe(active);
    this.left = new Set(active);
  }

  /** The new list of active tools, or undefined when it stays as it is. */
  next(active: readonly string[], enable: readonly string[], disable: readonly string[]): string[] | undefined {
    const now = new Set(active);
    this.observe(now);
    for (const name of this.ours) {
      if (enable.includes(name) && !this.userOff.has(name)) now.add(name);
      else if (disable.includes(name)) now.delete(name);
    }
    this.left = now;
    const same = now.size === active.length && active.every((name) => now.has(name));
    return same ? undefined : [...now];
  }

  private observe(active: ReadonlySet<string>): void {
    for (const name of this.ours) {
      if (active.has(name)) this.userOff.delete(name);
      else if (this.left.has(name)) this.userOff.add(name);
    }
  }
}
