/** The four slots that every system runs, and a count of what their providers were asked, to prove that the work is the same. */
import {
  defineMemory,
  defineMemoryProvider,
  defineTool,
  type MemoryDefinition,
  type MemoryProvider,
  type StandardSchema,
} from "@keepsake/core";
import { byPrincipal } from "@keepsake/core/scope";

/** What providers were called with since the process began. */
export interface Work {
  recalls: number;
  toolSets: number;
  captures: number;
  /** Messages shown to them, over all calls. */
  messages: number;
}

export const work: Work = { recalls: 0, toolSets: 0, captures: 0, messages: 0 };

export const slots: Readonly<Record<string, MemoryDefinition>> = Object.fromEntries(
  ["people", "preferences", "profile", "projects"].map((name) => [
    name,
    defineMemory({
      description: "Lasting facts about the person you talk to.",
      provider: idleProvider(),
      scope: byPrincipal,
      namespace: `bench-${name}`,
    }),
  ]),
);

/** Recalls nothing, offers one tool that is always the same, and captures nothing. */
function idleProvider(): MemoryProvider {
  const tools = { note: defineTool({ description: "Notes a fact.", inputSchema: noteSchema(), execute: () => null }) };
  return defineMemoryProvider({
    recall: {
      "turn.started": async ({ messages }) => {
        work.recalls += 1;
        work.messages += messages.length;
        return null;
      },
    },
    tools: async ({ messages }) => {
      work.toolSets += 1;
      work.messages += messages.length;
      return tools;
    },
    capture: {
      "turn.completed": async ({ messages }) => {
        work.captures += 1;
        work.messages += messages.length;
      },
    },
  });
}

/** Shows itself at no cost: a schema library's conversion is the provider's cost, not the host's. */
function noteSchema(): StandardSchema {
  const shown = { type: "object", properties: { text: { type: "string" } }, required: ["text"] };
  const show = (): Record<string, unknown> => shown;
  const jsonSchema = { input: show, output: show };
  return { "~standard": { version: 1, vendor: "bench", validate: (value) => ({ value }), jsonSchema } };
}
