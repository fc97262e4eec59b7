// Progress of a call in the line where Pi says that it is working.
import type { ExtensionContext } from "@earendil-works/pi-coding-agent";

export class WorkingMessage {
  private readonly ctx: ExtensionContext;
  private shown = false;

  constructor(ctx: ExtensionContext) {
    this.ctx = ctx;
  }

  show(text: string): void {
    this.shown = true;
    this.ctx.ui.setWorkingMessage(text);
  }

  /** Restores Pi's own words. */
  clear(): void {
    if (!this.shown) return;
    try {
      this.ctx.ui.setWorkingMessage();
    } catch {
      // The session has ended, and its screen with it.
    }
  }
}
