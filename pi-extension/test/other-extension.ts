// Another extension beside ours, for what only an extension can do in Pi:
//   /other replace       answer the next compaction itself
//   /other empty         answer the next compaction with {}
//   /other off TOOL      turn a tool off, as a user's tool switcher does
//   /other on TOOL       turn it on again
//   /other tree ENTRY    move the leaf, as the user does with /tree
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

export default function other(pi: ExtensionAPI) {
  let next: "replace" | "empty" | undefined;

  pi.registerCommand("other", {
    description: "Test helper",
    handler: async (args, ctx) => {
      const [word, name = ""] = args.split(" ");
      if (word === "replace" || word === "empty") next = word;
      else if (word === "off") pi.setActiveTools(pi.getActiveTools().filter((tool) => tool !== name));
      else if (word === "on") pi.setActiveTools([...pi.getActiveTools(), name]);
      else if (word === "tree") await ctx.navigateTree(name, { summarize: false });
      else throw new Error(`unknown word ${word}`);
    },
  });

  pi.on("session_before_compact", ({ preparation: { firstKeptEntryId, tokensBefore } }) => {
    const answer = next;
    next = undefined;
    if (answer === "empty") return {};
    if (answer === "replace") return { compaction: { summary: "ANOTHER SUMMARY", firstKeptEntryId, tokensBefore } };
    return undefined;
  });
}
