/**
 * The contract against the real eve 0.80.1 and ai 7: these assignments are the test, and the type check runs them.
 */
import type { ModelMessage as AiModelMessage } from "ai";
import * as eve from "eve/memory";
import type * as eveFile from "eve/memory/file";
import { byPrincipal as eveByPrincipal } from "eve/memory/scope";
import { describe, expect, expectTypeOf, it } from "vitest";
import type * as ours from "./index.ts";
import { byPrincipal } from "./scope.ts";

type Mutual<A, B> = [A] extends [B] ? ([B] extends [A] ? true : "B does not fit A") : "A does not fit B";
const mutual = <A, B>(verdict: Mutual<A, B>): void => expect(verdict).toBe(true);

describe("types are structurally eve's, in both directions", () => {
  it("messages", () => {
    mutual<ours.ModelMessage, AiModelMessage>(true);
  });

  it("providers, definitions, results and tools", () => {
    mutual<ours.MemoryProvider, eve.MemoryProvider>(true);
    mutual<ours.MemoryDefinition, eve.MemoryDefinition>(true);
    mutual<ours.MemoryRecallResult, eve.MemoryRecallResult>(true);
    mutual<ours.MemoryToolSet, eve.MemoryToolSet>(true);
    mutual<ours.MemoryScope, eve.MemoryScope>(true);
    mutual<ours.MemoryScopeDefinition, eve.MemoryScopeDefinition>(true);
    mutual<ours.MemoryNamespaceDefinition, eve.MemoryNamespaceDefinition>(true);
  });

  it("contexts, but for the sandbox, which only eve has", () => {
    type Plain<T> = Omit<T, "getSandbox">;
    mutual<Plain<ours.MemoryTurnContext>, Plain<eve.MemoryTurnStartedContext>>(true);
    mutual<Plain<ours.MemoryTurnContext>, Plain<eve.MemoryTurnCompletedContext>>(true);
    mutual<Plain<ours.MemoryCompactionCompletedContext>, Plain<eve.MemoryCompactionCompletedContext>>(true);
    mutual<Plain<ours.MemoryCompactionRequestedContext>, Plain<eve.MemoryCompactionRequestedContext>>(true);
    expectTypeOf<eve.MemoryToolsContext>().toExtend<ours.MemoryToolsContext>();
    expectTypeOf<eve.MemoryTurnStartedContext>().toExtend<ours.MemoryTurnContext>();
  });

  it("document backends", () => {
    expectTypeOf<ours.MemoryDocumentBackend>().toExtend<eveFile.MemoryDocumentBackend>();
    expectTypeOf<eveFile.MemoryDocumentBackend>().toExtend<ours.MemoryDocumentBackend>();
  });

  it("the real definers take ours, and our scope helper sits where theirs does", () => {
    const provider: ours.MemoryProvider = { recall: { "turn.started": () => null } };
    expect(eve.defineMemory({ provider, scope: byPrincipal }).provider).toBe(provider);
    const definition: ours.MemoryDefinition = { provider, scope: eveByPrincipal };
    expect(definition.scope).toBe(eveByPrincipal);
  });
});
