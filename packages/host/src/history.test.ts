import { defineMemory, type MemoryRecallMessage } from "@keepsake/core";
import { describe, expect, it } from "vitest";
import { type History, project, takeRecalled } from "./history.ts";
import type { SlotLock } from "./slots.ts";

function lock(changes: Partial<SlotLock> & { slotName?: string; key?: string } = {}): SlotLock {
  const { slotName = "notes", key = "k1", ...rest } = changes;
  const definition = defineMemory({ scope: "s", provider: { recall: { "turn.started": () => null } } });
  return {
    slot: { name: slotName, definition, recentLocks: new Map() },
    scope: { key, namespace: "n", value: "s" },
    namespaceKey: "n1",
    visibility: "scope",
    state: { slot: slotName, namespace: "n", scope: "s" },
    ...rest,
  };
}

const shown = (history: History, locks: readonly SlotLock[]) => project(history, locks).map(({ content }) => content);
function take(history: History, messages: readonly MemoryRecallMessage[]): History {
  const { kept, added } = takeRecalled(history, [{ lock: lock(), messages }]);
  return [...kept, ...added];
}
const recall = (history: History, ...texts: readonly string[]) =>
  texts.reduce((grown, content) => take(grown, [{ id: "x", content }]), history);

describe("recalled messages", () => {
  it("with an id replace their predecessor, which is gone, and one equal to the latest changes nothing", () => {
    const first = recall([], "A");
    expect(recall(first, "A")[0]).toBe(first[0]);
    const history = recall(first, "B", "A", "C");
    expect(history.map(({ message }) => message.content)).toEqual(["C"]);
    expect(shown(history, [lock()])).toEqual(["C"]);
    expect(shown(recall(history, "A "), [lock()])).toEqual(["A "]);
  });

  it("without an id are added each time", () => {
    const messages = [{ content: "same" }, { content: "same" }];
    expect(shown(take([], messages), [lock()])).toEqual(["same", "same"]);
  });

  it("show in their own slot, namespace and scope only", () => {
    const history = recall([], "mine");
    expect(shown(history, [lock()])).toEqual(["mine"]);
    expect(shown(history, [])).toEqual([]);
    expect(shown(history, [lock({ slotName: "other" })])).toEqual([]);
    expect(shown(history, [lock({ namespaceKey: "n2" })])).toEqual([]);
    expect(shown(history, [lock({ key: "k2" })])).toEqual([]);
    expect(shown(history, [lock({ key: "k2", visibility: "session" })])).toEqual(["mine"]);
  });

  it("hold keys and never a scope's value", () => {
    expect(JSON.stringify(recall([], "text"))).not.toContain('"s"');
  });
});
