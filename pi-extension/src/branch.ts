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

export function hasSystemMessage(sessions: Sessions): boolean {
  for (const entry of fromLeaf(sessions)) {
    if (entry.type === "message" && entry.message.role === "system") return true;
  }
  return false;
}

export function labelsOf(sessions: Sessions, branch: readonly Entry[]): Record<string, string> {
  const labels: Record<string, string> = {};
  for (const { id } of branch) {
    const label = sessions.getLabel(id);
    if (label !== undefined) labels[id] = label;
  }
  return labels;
}
