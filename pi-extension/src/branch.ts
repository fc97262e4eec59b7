// Questions about the current branch, answered from Pi's memory. Walks from the
// leaf by parent, so that nothing is copied and the newest entry is met first.
import type { ExtensionContext } from "@earendil-works/pi-coding-agent";

type Sessions = ExtensionContext["sessionManager"];
type Entry = NonNullable<ReturnType<Sessions["getEntry"]>>;

function* fromLeaf(sessions: Sessions): Generator<Entry> {
  const leafId = sessions.getLeafId();
  let entry = leafId === null ? undefined : sessions.getEntry(leafId);
  while (entry) {
    yield entry;
    entry = entry.parentId === null ? undefined : sessions.getEntry(entry.parentId);
  }
}

export function latestCompaction(sessions: Sessions): (Entry & { type: "compaction" }) | undefined {
  for (const entry of fromLeaf(sessions)) if (entry.type === "compaction") return entry;
  return undefined;
}

/**
 * Whether some entry of the branch is of a kind. Remembers the answer for the
 * leaf it saw last, so that a session that only grows is walked once: on a long
 * one the whole walk takes milliseconds, and some hooks ask before every request.
 */
export class BranchFact {
  private readonly test: (entry: Entry) => boolean;
  private leafId: string | null = null;
  private answer = false;

  constructor(test: (entry: Entry) => boolean) {
    this.test = test;
  }

  holds(sessions: Sessions): boolean {
    let answer = false;
    for (const entry of fromLeaf(sessions)) {
      answer = entry.id === this.leafId ? this.answer : this.test(entry);
      if (answer || entry.id === this.leafId) break;
    }
    this.leafId = sessions.getLeafId();
    this.answer = answer;
    return answer;
  }
}

export class BranchFacts {
  readonly compacted = new BranchFact((entry) => entry.type === "compaction");
  readonly hasSystemMessage = new BranchFact((entry) => entry.type === "message" && entry.message.role === "system");
}

export function labelsOf(sessions: Sessions, branch: readonly Entry[]): Record<string, string> {
  const labels: Record<string, string> = {};
  for (const { id } of branch) {
    const label = sessions.getLabel(id);
    if (label !== undefined) labels[id] = label;
  }
  return labels;
}
