/** The chat's memory: a file for each person, from which nothing is removed unless the person agrees. */
import { defineMemory, extendProvider, type MemoryProvider, type Principal } from "@keepsake/core";
import { byPrincipal } from "@keepsake/core/scope";
import { directory, fileMemory } from "@keepsake/file";
import { createMemoryHost, type MemoryHost } from "@keepsake/host";

/** @param root The folder that memories are kept in. */
export function createChatMemory(root: string): MemoryHost {
  const profile = defineMemory({
    description: "Lasting facts and preferences of the person you talk to.",
    provider: askBeforeRemoving(fileMemory({ backend: directory({ root }) })),
    scope: byPrincipal,
    namespace: "example-ai-sdk",
  });
  return createMemoryHost({ slots: { profile } });
}

/** Who sits at the terminal. Here anybody may say who they are; an application takes this from its authentication. */
export function personCalled(name: string): Principal {
  return { principalType: "user", authenticator: "terminal", principalId: name, attributes: {} };
}

function askBeforeRemoving(provider: MemoryProvider): MemoryProvider {
  return extendProvider(provider, {
    tools: async (context) => {
      const { remove_memory, ...tools } = (await provider.tools?.(context)) ?? {};
      if (remove_memory === undefined) return tools;
      return { ...tools, remove_memory: { ...remove_memory, approval: () => "user-approval" } };
    },
  });
}
