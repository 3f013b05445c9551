/** File memory in the real eve 0.80.1: its definers, its scope helper and its tool loop; only the model is scripted. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Principal } from "@keepsake/core";
import { byPrincipal as ourByPrincipal } from "@keepsake/core/scope";
import { EveAgent, type Prompt, type Reply } from "@keepsake/testing";
import { defineMemory, type MemoryDefinition, type MemoryProvider } from "eve/memory";
import { MemoryDocumentConflictError as EveConflictError, fileMemory as eveFileMemory } from "eve/memory/file";
import { byPrincipal } from "eve/memory/scope";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { directory, fileMemory, inMemory, type MemoryDocumentBackend } from "./index.ts";

const alice: Principal = { attributes: {}, authenticator: "test", principalId: "alice", principalType: "user" };
const bob: Principal = { ...alice, principalId: "bob" };
const anonymous: Principal = { ...alice, principalType: "anonymous" };

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "keepsake-eve-"));
  // eve warns that a loop outside its server has no run to put attributes on.
  vi.spyOn(console, "warn").mockImplementation(() => {});
  vi.spyOn(console, "error").mockImplementation(() => {});
});

afterEach(async () => {
  const errors = vi.mocked(console.error).mock.calls;
  vi.restoreAllMocks();
  await rm(folder, { recursive: true });
  expect(errors).toEqual([]);
});

describe.each([
  { store: "in memory", createBackend: (): MemoryDocumentBackend => inMemory() },
  { store: "in a folder", createBackend: (): MemoryDocumentBackend => directory({ root: folder }) },
])("kept $store", ({ createBackend }) => {
  let backend: MemoryDocumentBackend;

  beforeEach(() => {
    backend = createBackend();
  });

  it("offers the model both tools, described and strict", async () => {
    const { tools } = await startSession(fileMemory({ backend })).turn(alice);
    expect(tools).toEqual([
      {
        name: "profile__remove_memory",
        description: expect.stringMatching(/^Facts about the caller\.\n\nForget one saved memory by the number/),
        inputSchema: expect.objectContaining({ type: "object", required: ["index"], additionalProperties: false }),
      },
      {
        name: "profile__save_memory",
        description: expect.stringMatching(/^Facts about the caller\.\n\nKeep one lasting fact or preference/),
        inputSchema: expect.objectContaining({ type: "object", required: ["text"], additionalProperties: false }),
      },
    ]);
  });

  it("answers a save with its index, and recalls it as the user's from the next turn on", async () => {
    const session = startSession(fileMemory({ backend }));
    const saving = await session.turn(alice, save("likes tea"), save("lives in Oslo"), save("likes tea"));
    expect(saving.toolResults.map(({ output }) => output)).toEqual([
      { type: "json", value: { saved: true, duplicate: false, index: 0 } },
      { type: "json", value: { saved: true, duplicate: false, index: 1 } },
      { type: "json", value: { saved: true, duplicate: true, index: 0 } },
    ]);
    expect(memoryIn(saving)).toEqual([]);
    expect(memoryIn(await session.turn(alice))).toEqual([
      expect.stringMatching(
        /^user: <keepsake-memory slot="profile">\n[^<]+\n0: likes tea\n1: lives in Oslo\n<\/keepsake-memory>$/,
      ),
    ]);
  });

  it("recalls in another session, once and never as a system message", async () => {
    await startSession(fileMemory({ backend })).turn(alice, save("likes tea"));
    const { messages } = await startSession(fileMemory({ backend })).turn(alice);
    expect(messages.filter((message) => message.includes("likes tea"))).toEqual([expect.stringMatching(/^user: </)]);
  });

  it("keeps callers apart, in sessions of their own and within one", async () => {
    const provider = fileMemory({ backend });
    await startSession(provider).turn(alice, save("likes tea"));
    await startSession(provider).turn(bob, save("likes coffee"));
    const shared = startSession(provider);
    for (const session of [startSession(provider), shared]) {
      const { messages } = await session.turn(bob);
      expect(messages.join("\n")).toContain("0: likes coffee");
      expect(messages.join("\n")).not.toContain("likes tea");
    }
    const { messages } = await shared.turn(alice);
    expect(messages.join("\n")).toContain("0: likes tea");
    expect(messages.join("\n")).not.toContain("likes coffee");
  });

  it.each([
    ["an anonymous caller", anonymous],
    ["nobody", null],
  ])("gives %s neither memory nor tools", async (_who, caller) => {
    const provider = fileMemory({ backend });
    await startSession(provider).turn(alice, save("likes tea"));
    const session = startSession(provider);
    const signedIn = await session.turn(alice);
    expect(memoryIn(signedIn)).toHaveLength(1);
    expect(signedIn.tools).toHaveLength(2);
    const { messages, tools } = await session.turn(caller);
    expect(messages).toContain("user: Hello.");
    expect(messages.join("\n")).not.toMatch(/likes tea|keepsake/);
    expect(tools).toEqual([]);
  });

  it.each([{ text: "" }, { text: 7 }, { text: "likes tea", scope: "everyone" }, {}])(
    "tells the model that %j is no memory, and stores nothing",
    async (input) => {
      const session = startSession(fileMemory({ backend }));
      const refused = await session.turn(alice, { toolName: "profile__save_memory", input });
      expect(refused.toolResults).toEqual([
        {
          toolName: "profile__save_memory",
          output: { type: "error-text", value: expect.stringContaining("Invalid input for tool profile__save_memory") },
        },
      ]);
      expect(await contentsOf(backend)).toEqual([]);
      await session.turn(alice, save("likes tea"));
      expect(await contentsOf(backend)).toEqual([expect.stringContaining("\n0: likes tea\n")]);
    },
  );

  it("refuses a secret without repeating it", async () => {
    const secret = ["ghp_", "a1B2".repeat(9)].join("");
    const session = startSession(fileMemory({ backend }));
    const refused = await session.turn(alice, save(`the token is ${secret}`));
    expect(refused.toolResults).toEqual([
      {
        toolName: "profile__save_memory",
        output: { type: "error-text", value: expect.stringMatching(/^MemoryError: .*secret/i) },
      },
    ]);
    expect(JSON.stringify(refused.toolResults)).not.toContain(secret.slice(4, 12));
    const logged = [vi.mocked(console.warn), vi.mocked(console.error)].flatMap(({ mock }) => mock.calls);
    expect(JSON.stringify(logged)).toContain("tool execution failed");
    expect(JSON.stringify(logged)).not.toContain(secret.slice(4, 12));
    vi.mocked(console.error).mockClear();
    expect(await contentsOf(backend)).toEqual([]);
    const accepted = await session.turn(alice, save("likes tea"));
    expect(accepted.toolResults.at(-1)?.output).toEqual(savedAs(0));
  });

  it("forgets by number, and takes back what it recalled before", async () => {
    const provider = fileMemory({ backend });
    await startSession(provider).turn(alice, save("likes tea"));
    const session = startSession(provider);
    expect(memoryIn(await session.turn(alice))).toEqual([expect.stringContaining("0: likes tea")]);
    const removing = await session.turn(alice, remove(0), remove(0));
    expect(removing.toolResults.map(({ output }) => output)).toEqual([
      { type: "json", value: { removed: true, index: 0 } },
      { type: "json", value: { removed: false, index: 0 } },
    ]);
    for (const prompt of [await session.turn(alice), await startSession(provider).turn(alice)]) {
      expect(memoryIn(prompt)).toEqual([nothingSaved]);
      expect(prompt.messages.join("\n")).not.toContain("likes tea");
    }
    const again = await session.turn(alice, save("likes coffee"));
    expect(again.toolResults.at(-1)?.output).toEqual(savedAs(1));
  });

  it("stays whole and current through a compaction, and is recalled anew after a clearing", async () => {
    const provider = fileMemory({ backend });
    await startSession(provider).turn(alice, save("likes tea"), save("lives in Oslo"));
    const session = startSession(provider);
    await session.turn(alice);
    await startSession(provider).turn(alice, remove(0));
    await session.agent.compact();
    const summarised = session.agent.prompts.at(-1)?.messages.join("\n");
    expect(summarised).toContain("Hello.");
    expect(summarised).not.toMatch(/likes tea|Oslo/);
    const compacted = await session.turn(alice);
    expect(compacted.messages).toContain("user: Summary of our conversation so far:");
    expect(memoryIn(compacted)).toEqual([expect.stringContaining("\n1: lives in Oslo\n")]);
    expect(compacted.messages.join("\n")).not.toContain("likes tea");
    await session.agent.clear();
    const cleared = await session.turn(alice);
    expect(cleared.messages).toEqual([expect.stringMatching(/^system:/), ...memoryIn(compacted), "user: Hello."]);
  });

  it("is brought up to date by a compaction in the midst of a turn", async () => {
    const session = startSession(fileMemory({ backend }), { compactionThreshold: 50 });
    const saving = await session.turn(alice, save("likes tea"));
    expect(saving.messages).toContain("user: Summary of our conversation so far:");
    expect(memoryIn(saving)).toEqual([expect.stringContaining("\n0: likes tea\n")]);
  });

  it("carries out a call once when eve repeats the step it was in", async () => {
    const provider = fileMemory({ backend });
    const sessionId = "interrupted";
    const first = await startSession(provider, { sessionId }).turn(alice, save("likes tea"));
    const repeated = await startSession(provider, { sessionId }).turn(alice, save("likes tea"));
    expect(first.toolResults.at(-1)?.output).toEqual(savedAs(0));
    expect(repeated.toolResults.at(-1)?.output).toEqual(savedAs(0));
    expect(memoryIn(await startSession(provider).turn(alice))).toEqual([expect.stringMatching(/0: likes tea\n</)]);
  });

  it("has the same memory under our scope helper as under eve's", async () => {
    const provider = fileMemory({ backend });
    await startSession(provider).turn(alice, save("likes tea"));
    const session = startSession(provider, { scope: ourByPrincipal });
    expect(memoryIn(await session.turn(alice))).toEqual([expect.stringContaining("0: likes tea")]);
    expect((await session.turn(anonymous)).tools).toEqual([]);
  });

  it("holds the documents of eve's own file memory, and file memory goes on with them", async () => {
    const eves = startSession(eveFileMemory({ backend }));
    await eves.turn(alice, save("likes tea"), save("lives in Oslo"), remove(0));
    expect((await eves.turn(alice)).messages.join("\n")).toContain("\n1: lives in Oslo");
    const ours = startSession(fileMemory({ backend }));
    expect(memoryIn(await ours.turn(bob))).toEqual([]);
    const saving = await ours.turn(alice, save("likes coffee"));
    expect(memoryIn(saving)).toEqual([expect.stringMatching(/\n1: lives in Oslo\n</)]);
    expect(saving.toolResults.at(-1)?.output).toEqual(savedAs(2));
    expect(memoryIn(await ours.turn(alice))).toEqual([expect.stringMatching(/\n1: lives in Oslo\n2: likes coffee\n</)]);
  });

  it("reports a stale write as the conflict that eve knows, and eve's file memory redoes its save", async () => {
    const signal = new AbortController().signal;
    const write = { key: "contended", signal, content: "first", expectedVersion: null };
    await backend.write(write);
    const conflict: unknown = await backend.write(write).catch((error: unknown) => error);
    expect(EveConflictError.is(conflict)).toBe(true);
    expect(EveConflictError.is(new Error("The memory document changed before it could be updated."))).toBe(false);

    let overtaken = 0;
    const contended: MemoryDocumentBackend = {
      read: backend.read,
      write: async (input) => {
        overtaken += 1;
        if (overtaken === 1) await backend.write({ ...input, content: input.content.replace("tea", "coffee") });
        return backend.write(input);
      },
    };
    await startSession(eveFileMemory({ backend: contended })).turn(alice, save("likes tea"));
    expect(overtaken).toBe(2);
    expect(memoryIn(await startSession(fileMemory({ backend })).turn(alice))).toEqual([
      expect.stringMatching(/\n0: likes coffee\n1: likes tea\n</),
    ]);
  });
});

it("takes back what it recalled when the whole store is gone", async () => {
  let store = inMemory();
  const provider = fileMemory({
    backend: { read: async (input) => store.read(input), write: async (input) => store.write(input) },
  });
  await startSession(provider).turn(alice, save("likes tea"));
  const session = startSession(provider);
  expect(memoryIn(await session.turn(alice))).toEqual([expect.stringContaining("0: likes tea")]);
  store = inMemory();
  expect(memoryIn(await session.turn(alice))).toEqual([nothingSaved]);
  expect(memoryIn(await startSession(provider).turn(alice))).toEqual([]);
});

const nothingSaved = 'user: <keepsake-memory slot="profile">\nNothing is saved here.\n</keepsake-memory>';

function savedAs(index: number): object {
  return { type: "json", value: { saved: true, duplicate: false, index } };
}

function save(text: string): Reply {
  return { toolName: "profile__save_memory", input: { text } };
}

function remove(index: number): Reply {
  return { toolName: "profile__remove_memory", input: { index } };
}

interface SessionOptions {
  readonly scope?: MemoryDefinition["scope"];
  readonly sessionId?: string;
  readonly compactionThreshold?: number;
}

let sessions = 0;

/** A session of an agent with one slot, `profile`. In a turn the model answers as scripted, then with a closing word. */
function startSession(provider: MemoryProvider, { scope = byPrincipal, ...options }: SessionOptions = {}) {
  sessions += 1;
  const replies: Reply[] = [];
  const agent = new EveAgent({
    memories: {
      profile: defineMemory({ description: "Facts about the caller.", namespace: "app", provider, scope }),
    },
    // eve asks for the summary of a compaction without tools: that answer is not part of the script.
    respond: ({ tools }) => (tools.length === 0 ? undefined : replies.shift()) ?? "Done.",
    sessionId: `session_${sessions}`,
    ...options,
  });
  const turn = (principal: Principal | null, ...script: readonly Reply[]): Promise<Prompt> => {
    replies.push(...script);
    return agent.turn("Hello.", { principal });
  };
  return { agent, turn };
}

function memoryIn({ messages }: Prompt): string[] {
  return messages.filter((message) => message.includes("<keepsake-memory"));
}

async function contentsOf(backend: MemoryDocumentBackend): Promise<string[]> {
  const signal = new AbortController().signal;
  const contents: string[] = [];
  for await (const key of backend.keys?.({ signal }) ?? []) {
    const document = await backend.read({ key, signal });
    contents.push(document?.content ?? "");
  }
  return contents;
}
