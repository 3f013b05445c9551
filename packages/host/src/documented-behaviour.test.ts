/** Where eve's documents say one thing and eve does another: what this host does. */
import { defineTool, type MemoryTool, type ModelMessage } from "@keepsake/core";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createMemoryHost, defaultNamespace, runTool } from "./index.ts";
import { answer, recorder, slotKnowing, slotRecalling } from "./test-support/slots.ts";

const contents = (messages: readonly ModelMessage[]): unknown[] => messages.map(({ content }) => content);
const tool = (execute: () => unknown): MemoryTool =>
  defineTool({ description: "Does it.", inputSchema: z.strictObject({}), execute });

describe("as documented, and not as eve does", () => {
  it("a recall that fails at the start of a turn fails the turn, once, and not the session", async () => {
    let calls = 0;
    const slots = {
      s: slotRecalling(() => {
        calls += 1;
        if (calls === 1) throw new Error("down");
        return null;
      }),
    };
    const session = createMemoryHost({ slots }).session();
    await expect(session.startTurn("one")).rejects.toMatchObject({ code: "recall_failed" });
    expect(calls).toBe(1);
    expect(contents((await session.startTurn("two")).messages)).toEqual(["two"]);
  });

  it("only records that were replaced are cleaned up, and those at once", async () => {
    let asked = 0;
    let turn = 0;
    const slots = {
      s: slotRecalling(
        () => {
          turn += 1;
          const replaced = Array.from({ length: 200 }, (_, index) => ({ id: `${index}`, content: `version ${turn}` }));
          return { messages: [...replaced, ...Array.from({ length: 200 }, () => ({ content: "live" }))] };
        },
        {
          capture: { "compaction.requested": () => void asked++ },
          after: () => {
            asked += 1;
            return null;
          },
        },
      ),
    };
    const session = createMemoryHost({ slots }).session();
    for (let index = 0; index < 4; index += 1) {
      await session.startTurn("again");
      await session.completeTurn(answer);
    }
    const records = session.state.history.filter(({ record }) => record !== undefined);
    expect(records).toHaveLength(200 + 4 * 200);
    expect(records.filter(({ message }) => message.content === "version 4")).toHaveLength(200);
    expect(asked).toBe(0);
    await session.compact({ summarize: () => "short", keepMessages: 1 });
    expect(asked).toBe(2);
  });

  it("a compaction keeps each slot's records, with a handler for it or without, also in the turn that is open", async () => {
    const slots = {
      plain: slotKnowing(() => "plain", { namespace: "plain" }),
      whole: slotRecalling(() => ({ messages: [{ id: "k", content: "whole" }] }), { after: () => null }),
    };
    const session = createMemoryHost({ slots }).session();
    await session.startTurn("one");
    await session.completeTurn(answer);
    await session.startTurn("two");
    const { messages } = await session.compact({ summarize: () => "short", keepMessages: 0 });
    expect(contents(messages)).toEqual(["plain", "whole", expect.any(String), "short", "two"]);
  });

  it("the default namespace of a local application is a digest of its root, however often it is built", () => {
    const of = (appRoot: string) => defaultNamespace({ appRoot, node: "__root__", slot: "profile" }, {});
    expect(of("/app/.eve/dev-runtime/snapshots/1/source")).toBe(of("/app"));
    expect(of("/app/.eve/dev-runtime/snapshots/2/source")).toBe(of("/app"));
    expect(of("/other")).not.toBe(of("/app"));
  });

  it("tools that cannot be offered are left out, those with another slot's name among them", async () => {
    const { events, onEvent } = recorder();
    const slots = {
      a: slotRecalling(() => null, { tools: async () => ({ b__c: tool(() => "a's") }) }),
      a__b: slotRecalling(() => null, { tools: async () => ({ c: tool(() => "a__b's") }), scope: "b" }),
    };
    const { tools } = await createMemoryHost({ slots, onEvent }).session().startTurn("hello");
    expect(await tools.a__b__c?.execute({})).toBe("a__b's"); // the first in the order of slots
    expect(events).toContainEqual({
      code: "tools_failed",
      slot: "a",
      error: { name: "MemoryError", code: "invalid_tools" },
    });
  });
});

describe("as eve does, and not as documented", () => {
  it("a recall that fails after a compaction leaves the history as it was, without the summary", async () => {
    const slots = {
      s: slotRecalling(() => null, {
        after: () => {
          throw new Error("down");
        },
      }),
    };
    const session = createMemoryHost({ slots }).session();
    await session.startTurn("one");
    await session.completeTurn(answer);
    const before = session.state;
    await expect(session.compact({ summarize: () => "short", keepMessages: 1 })).rejects.toMatchObject({
      code: "compaction_failed",
    });
    expect(session.state).toEqual(before);
    expect(JSON.stringify(session.state)).not.toContain("short");
  });

  it("a compaction between turns tells providers of the latest turn, and not of none", async () => {
    const seen: unknown[] = [];
    const slots = {
      s: slotRecalling(() => null, { capture: { "compaction.requested": ({ turn }) => void seen.push(turn) } }),
    };
    const session = createMemoryHost({ slots }).session();
    for (const text of ["one", "two"]) {
      await session.startTurn(text);
      await session.completeTurn(answer);
    }
    await session.compact({ summarize: () => "short", keepMessages: 1 });
    expect(seen).toEqual([{ id: "turn_1", sequence: 1, input: [{ role: "user", kind: "user", content: "two" }] }]);
  });

  it("a recalled message names no slot: the model sees the provider's text alone, in the user's role", async () => {
    const session = createMemoryHost({ slots: { secretly: slotKnowing(() => "likes <b>tea</b>") } }).session();
    const { messages } = await session.startTurn("hello");
    expect(messages[0]).toEqual({ role: "user", content: "likes <b>tea</b>" });
    expect(JSON.stringify(messages)).not.toContain("secretly");
    expect(session.state.history[0]?.record?.slot).toBe("secretly"); // known to the host all the same
  });

  it("a tool that answers with a stream fails, and the model is told", async () => {
    const slots = {
      s: slotRecalling(() => null, {
        tools: async () => ({
          stream: tool(async function* () {
            yield "one";
          }),
          plain: tool(() => "one"),
        }),
      }),
    };
    const { tools } = await createMemoryHost({ slots }).session().startTurn("hello");
    const result = await runTool(tools, { toolCallId: "1", toolName: "s__stream", input: {} });
    expect(result.content).toMatchObject([{ output: { type: "error-text", value: expect.stringContaining("JSON") } }]);
    expect(await tools.s__plain?.execute({})).toBe("one");
  });
});
