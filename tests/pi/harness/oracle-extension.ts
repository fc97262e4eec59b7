// Writes down what Pi itself prepared for each compaction, so that tests can
// compare an extension's answer with Pi's own view. Answers nothing.
//
// Each line of $ORACLE_LOG is one record:
//   { event: "before", reason, willRetry, customInstructions?, firstKeptEntryId, tokensBefore,
//     isSplitTurn, messagesToSummarize, turnPrefixMessages, leafId, branchIds }
//   { event: "compact", compactionId, fromExtension, reason }
//   { event: "failed", reason, aborted, errorMessage? }
import { appendFileSync } from "node:fs";
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";

export default function oracle(pi: ExtensionAPI) {
  const file = process.env.ORACLE_LOG;
  if (!file) throw new Error("ORACLE_LOG is not set");
  const log = (record: object) => appendFileSync(file, `${JSON.stringify(record)}\n`);

  pi.on("session_before_compact", async (event, ctx) => {
    const { preparation } = event;
    log({
      event: "before",
      reason: event.reason,
      willRetry: event.willRetry,
      customInstructions: event.customInstructions,
      firstKeptEntryId: preparation.firstKeptEntryId,
      tokensBefore: preparation.tokensBefore,
      isSplitTurn: preparation.isSplitTurn,
      messagesToSummarize: preparation.messagesToSummarize,
      turnPrefixMessages: preparation.turnPrefixMessages,
      leafId: ctx.sessionManager.getLeafId(),
      branchIds: event.branchEntries.map((entry) => entry.id),
    });
  });

  pi.on("session_compact", async (event, ctx) => {
    log({
      event: "compact",
      // Pi looks the entry up by its text; the leaf is the entry it has just written.
      compactionId: ctx.sessionManager.getLeafId(),
      foundId: event.compactionEntry.id,
      fromExtension: event.fromExtension,
      reason: event.reason,
    });
  });

  pi.on("session_compact_failed", async (event) => {
    log({ event: "failed", reason: event.reason, aborted: event.aborted, errorMessage: event.errorMessage });
  });
}
