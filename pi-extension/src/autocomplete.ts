// The describeCommand effect: other words for a command of Pi's own in the
// TUI's autocomplete, by wrapping the provider that lists it.
import type { ExtensionContext } from "@earendil-works/pi-coding-agent";
import type { AutocompleteItem, AutocompleteProvider } from "@earendil-works/pi-tui";

export class CommandDescriptions {
  private readonly texts = new Map<string, string>();
  private installed = false;

  set(ctx: ExtensionContext, command: string, text: string): void {
    this.texts.set(command, text);
    if (this.installed || ctx.mode !== "tui") return;
    this.installed = true;
    ctx.ui.addAutocompleteProvider((current) => describe(current, this.texts));
  }
}

export function describe(current: AutocompleteProvider, texts: ReadonlyMap<string, string>): AutocompleteProvider {
  return {
    triggerCharacters: current.triggerCharacters,
    async getSuggestions(lines, cursorLine, cursorCol, options) {
      const suggestions = await current.getSuggestions(lines, cursorLine, cursorCol, options);
      if (!suggestions || !/^\/\S*$/.test(suggestions.prefix)) return suggestions;
      // The provider below may keep and compare its items: those we have no
      // words for stay the same objects, the others become new ones.
      const items = suggestions.items.map((item) => described(item, texts.get(item.value)));
      return { ...suggestions, items };
    },
    applyCompletion: (...args) => current.applyCompletion(...args),
    // A provider without the method has Pi complete files everywhere.
    shouldTriggerFileCompletion: (...args) => current.shouldTriggerFileCompletion?.(...args) ?? true,
  };
}

function described(item: AutocompleteItem, text: string | undefined): AutocompleteItem {
  return text === undefined ? item : { ...item, description: text };
}
