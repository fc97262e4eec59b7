// Does from inside Pi what RPC has no command for. Everything is a word of /helper:
//
//   /helper tree ENTRY [summarize]   move the leaf, as the user does with /tree
//   /helper label ENTRY [TEXT]       label an entry, or take its label away
//   /helper note TYPE TEXT           a custom message in the context
//   /helper wake TYPE TEXT           the same, and the model answers it
//   /helper entry TYPE TEXT          a custom entry outside the context
//   /helper omit ENTRY               omit an entry from the context
//   /helper replace ENTRY TEXT       replace what the context shows of an entry
//   /helper compactions MODE [N]     answer the next N (default 1) compactions:
//                                      answer       with a summary of its own
//                                      retain-none  the same, keeping no entry at all
//                                      keep-all     the same, keeping everything from the first message on
//                                      empty        with {}, which erases earlier answers
//   /helper queue HOW TEXT           queue a message while the next compaction is made:
//                                      steer, followUp  as the user does while the agent works
//                                      note             as an extension does with a message of its own
//   /helper reload                   what the user does with /reload
//   /helper window TOKENS            the model's context window as extensions see it
//   /helper later DURATION           let the recording clock jump (record/clock.mjs), back with a minus
//
// omit and replace take effect at the end of the next turn: Pi takes context
// edits only there.
import type { ExtensionAPI, SessionBeforeCompactEvent, SessionEntry } from "@earendil-works/pi-coding-agent";

type Edit = { type: "context_edit"; targetId: string; replacement: null | { content: string } };
type Answer = "answer" | "retain-none" | "keep-all" | "empty";

const UNITS: Record<string, number> = { s: 1000, m: 60_000, h: 3_600_000 };

function durationMs(text: string): number {
  const match = /^(-?\d+)([smh])$/.exec(text);
  if (!match) throw new Error(`not a duration: ${text}`);
  return Number(match[1]) * UNITS[match[2]];
}

export default function helper(pi: ExtensionAPI) {
  let edits: Edit[] = [];
  let answer: Answer | undefined;
  let answersLeft = 0;
  let answersGiven = 0;
  let queue: { how: string; text: string } | undefined;

  pi.registerCommand("helper", {
    description: "Test helper",
    handler: async (args, ctx) => {
      const [word, first = "", ...others] = args.trim().split(" ");
      const rest = others.join(" ");
      switch (word) {
        case "tree":
          await ctx.navigateTree(first, { summarize: rest === "summarize" });
          return;
        case "label":
          pi.setLabel(first, rest || undefined);
          return;
        case "note":
          pi.sendMessage({ customType: first, content: rest, display: true });
          return;
        case "wake":
          pi.sendMessage({ customType: first, content: rest, display: true }, { triggerTurn: true });
          return;
        case "entry":
          pi.appendEntry(first, { text: rest });
          return;
        case "omit":
          edits.push({ type: "context_edit", targetId: first, replacement: null });
          return;
        case "replace":
          edits.push({ type: "context_edit", targetId: first, replacement: { content: rest } });
          return;
        case "compactions":
          answer = first as Answer;
          answersLeft = Number(rest || "1");
          return;
        case "queue":
          queue = { how: first, text: rest };
          return;
        case "reload":
          return ctx.reload();
        case "window":
          ctx.model!.contextWindow = Number(first);
          return;
        case "later":
          (globalThis as any).recordingClock.advance(durationMs(first));
          return;
        default:
          throw new Error(`unknown word: ${word}`);
      }
    },
  });

  pi.on("turn_end", async (event: any) => {
    if (edits.length === 0) return undefined;
    const entries = [...event.entries, ...edits];
    edits = [];
    return { entries };
  });

  function firstKept({ preparation, branchEntries }: SessionBeforeCompactEvent): string {
    // Pi's type asks for a string; null is how an extension says "keep nothing".
    if (answer === "retain-none") return null as unknown as string;
    if (answer === "answer") return preparation.firstKeptEntryId;
    const isUser = (entry: SessionEntry) => entry.type === "message" && entry.message.role === "user";
    return branchEntries.find(isUser)!.id;
  }

  pi.on("session_before_compact", async () => {
    if (queue?.how === "note") {
      pi.sendMessage({ customType: "helper-note", content: queue.text, display: true }, { deliverAs: "steer" });
    } else if (queue) {
      pi.sendUserMessage(queue.text, { deliverAs: queue.how as "steer" | "followUp" });
    }
    queue = undefined;
    return undefined;
  });

  pi.on("session_before_compact", async (event) => {
    if (answersLeft === 0) return undefined;
    answersLeft -= 1;
    answersGiven += 1;
    if (answer === "empty") return {};
    return {
      compaction: {
        summary: `Summary ${answersGiven} by another extension.`,
        firstKeptEntryId: firstKept(event),
        tokensBefore: event.preparation.tokensBefore,
        details: { by: "helper" },
      },
    };
  });
}
