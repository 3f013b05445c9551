import { describe, expect, it } from "vitest";
import designed from "../../../design/event-codes.json" with { type: "json" };
import { MemoryDocumentConflictError } from "./document-backend.ts";
import { MemoryError } from "./errors.ts";
import { describeError, emitEvent, type MemoryEvent, memoryEventCodes } from "./events.ts";

const event: MemoryEvent = { code: "retry", slot: "notes", counts: { attempt: 2 } };

describe("emitEvent", () => {
  it("tells the listener once, and does without one", () => {
    const seen: MemoryEvent[] = [];
    emitEvent((told) => seen.push(told), event);
    emitEvent(undefined, event);
    expect(seen).toEqual([event]);
  });

  it("goes on when the listener throws, at once or later", async () => {
    const unhandled: unknown[] = [];
    const onUnhandled = (reason: unknown): void => void unhandled.push(reason);
    process.on("unhandledRejection", onUnhandled);
    let told = 0;
    emitEvent(() => {
      told += 1;
      throw new Error("observer");
    }, event);
    emitEvent(async () => {
      told += 1;
      throw new Error("observer");
    }, event);
    await new Promise(setImmediate); // Node reports unhandled rejections before the next round of its loop
    process.off("unhandledRejection", onUnhandled);
    expect(told).toBe(2);
    expect(unhandled).toEqual([]);
  });
});

describe("describeError", () => {
  it("names a typed error and its code, and of any other only what is safe", () => {
    expect(describeError(new MemoryError("timeout", "No answer."))).toEqual({ name: "MemoryError", code: "timeout" });
    const conflict = new MemoryDocumentConflictError("ann.lee");
    expect(describeError(conflict)).toEqual({ name: "MemoryDocumentConflictError", code: "conflict" });
    const response = Object.assign(new TypeError("pin 4711"), { status: 503, code: "EPIPE", body: "pin 4711" });
    expect(describeError(response)).toEqual({ name: "TypeError", code: "EPIPE", status: 503 });
    expect(describeError("pin 4711")).toEqual({ name: "string" });
  });
});

it("design/event-codes.json lists every code, and no other", () => {
  expect(memoryEventCodes).toContain("retry");
  expect(Object.keys(designed.codes).toSorted()).toEqual(memoryEventCodes.toSorted());
});
