/**
 * A host makes tools anew for every use of one, for whoever is there at the moment, and spreads them on the way. Tools that
 * resolve their scope late, that die with the next map or that are no plain objects fail there.
 */
import { MemoryError, type MemoryTool, type MemoryToolSet, type MemoryToolsContext } from "@keepsake/core";
import { defineCheck } from "../check.ts";
import type { Person } from "../drive/person.ts";
import { pathShowing } from "../drive/shown.ts";
import { defineFamily, type Family } from "../family.ts";
import { withTools } from "../reference/changed.ts";

const lockedScope = defineCheck({
  id: "tool-maps/locked-scope",
  clause: "MEM-TOL-05",
  title: "A tool that was made for one person writes that person's memory, also when another's tools were made since",
  needs: ["save-tool"],
  reasons: {
    "latest-scope": "The scope is kept in the instance by tools(), and read when a tool runs.",
    "first-scope": "Tools are kept by the id of the session, and given to whoever comes with the same one later.",
    dead: "A map of tools works only until the next one is made.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    const session = "one session, two callers";
    const [ann, ben] = ["ann", "ben"].map((scope) => handle.person({ scope, session })) as [Person, Person]; // two
    const [tea, bees] = [bench.canary(), bench.canary()];
    const tools = await ann.toolset();
    const later = await ben.toolset();
    const { save } = handle.guess(tools);
    const saving = await bench.outcome(() => ann.call(save?.name ?? "", save?.input(tea.text), { tools }));
    await ben.call(save?.name ?? "", save?.input(bees.text), { tools: later });
    const query = `${bees.query} ${tea.query}`;
    const [annSees, benSees] = [await ann.again().readings(query), await ben.again().readings(query)];
    if (pathShowing(benSees, tea.word) !== undefined)
      fail("latest-scope", "What one person's tool saved, the person found whose tools were made last.");
    if (pathShowing(annSees, bees.word) !== undefined)
      fail("first-scope", "What the tools saved that were made last, the person found whose tools were made first.");
    if (pathShowing(await ben.readings(query), tea.word) !== undefined)
      fail("first-scope", "In one session, the second person was shown what the first had saved.");
    if (saving.state === "rejected" || pathShowing(annSees, tea.word) === undefined)
      fail("dead", "A tool saved nothing any more after tools had been made for another person.");
    if (pathShowing(benSees, bees.word) === undefined) fail("dead", "The tools that were made last saved nothing.");
  },
});

const repeated = defineCheck({
  id: "tool-maps/repeated",
  clause: "MEM-TOL-06",
  title: "tools() answers the same names each time, asks the backend nothing, and leaves earlier maps working",
  needs: ["tools"],
  reasons: {
    names: "Names are made anew, or depend on what is stored.",
    requests: "tools() reads or writes. A host calls it several times for each use of a tool.",
    dead: "A map of tools works only until the next one is made.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    const [ann, memory] = [bench.someone(handle), bench.canary()];
    await ann.write(bench.canary().text);
    const tools = await ann.toolset();
    const asked = (): number => (bench.facts.backend === "none" ? 0 : bench.backend.observed().length);
    const before = asked();
    const again = [await ann.toolset(), await ann.again().toolset(ann.begin("Another question."))];
    if (asked() > before) fail("requests", "tools() alone reached the backend.");
    const names = Object.keys(tools).join();
    if (again.some((each) => Object.keys(each).join() !== names)) fail("names", "A second call answered other tools.");
    const { save } = handle.guess(tools);
    if (save === undefined) return;
    const saving = await bench.outcome(() => ann.call(save.name, save.input(memory.text), { tools }));
    if (saving.state === "rejected" || pathShowing(await ann.readings(memory.query), memory.word) === undefined)
      fail("dead", "A tool of the first map saved nothing after tools() had been called again.");
  },
});

const names = defineCheck({
  id: "tool-maps/names",
  clause: "MEM-TOL-07",
  title: "Tools are plain, branded objects whose names a host can qualify",
  needs: ["tools"],
  reasons: {
    members: "description, inputSchema and execute have to be the tool's own enumerable members: a host spreads it.",
    brand: "The tool was not made by defineTool().",
    name: "With its slot, the name is too long, or has characters other than letters, digits, _ and -.",
  },
  async run(bench, fail) {
    const tools = await bench.someone(await bench.open()).toolset();
    for (const [name, tool] of Object.entries(tools)) {
      const { description, inputSchema, execute }: { [member in keyof MemoryTool]?: unknown } = { ...tool };
      const hasSchema = (typeof inputSchema === "object" && inputSchema !== null) || typeof inputSchema === "function";
      if (typeof description !== "string" || description.trim() === "" || !hasSchema || typeof execute !== "function")
        fail("members", `A spread of the tool "${name}" lacks a description, an inputSchema or execute.`);
      if (Reflect.get({ ...tool }, Symbol.for("eve:tool-brand")) !== true)
        fail("brand", `A spread of the tool "${name}" does not carry the brand of defineTool().`);
      if (!/^[a-zA-Z][a-zA-Z0-9_-]{0,63}$/.test(`memory__${name}`))
        fail("name", `"memory__${name.slice(0, 80)}" is no name that a host offers.`);
    }
  },
});

export const toolMaps: Family = defineFamily({
  name: "tool maps",
  clauses: [
    {
      id: "MEM-TOL-05",
      level: "MUST",
      profile: "base",
      sentence: "A tool acts on the scope that it was made for, whatever tools are made for others later.",
      source: "P12, E9.9",
    },
    {
      id: "MEM-TOL-06",
      level: "MUST",
      profile: "base",
      sentence:
        "tools() has no effect and asks the backend nothing, answers the same names each time, and earlier maps stay right.",
      source: "P12, E9.7",
    },
    {
      id: "MEM-TOL-07",
      level: "MUST",
      profile: "base",
      sentence:
        "Each tool carries the brand, description, inputSchema and execute as its own enumerable members, under a name that fits 64 characters with its slot.",
      source: "P12, E9.2, E9.3",
    },
  ],
  checks: [lockedScope, repeated, names],
  mutants: [
    {
      id: "tool-maps/latest-scope",
      flaw: "Its tools act on the scope for which tools were made last.",
      kills: { "tool-maps/locked-scope": "latest-scope" },
      spares: ["tool-maps/repeated", "isolation/matrix"],
      provider: (provider) => {
        let latest: MemoryToolsContext | undefined;
        return withTools(provider, (own, context) => {
          latest = context;
          const late = Object.entries(own).map(([name, tool]) => {
            const execute: MemoryTool["execute"] = async (input, call) =>
              (await provider.tools?.(latest ?? context))?.[name]?.execute(input, call);
            return [name, { ...tool, execute }];
          });
          return Object.fromEntries(late);
        });
      },
    },
    {
      id: "tool-maps/by-session",
      flaw: "Makes its tools once for each session id.",
      kills: {
        "tool-maps/locked-scope": "first-scope",
        "isolation/operation-id": "written-elsewhere",
        "isolation/equal-ids-at-once": "by-ids",
      },
      spares: ["tool-maps/repeated", "isolation/matrix"],
      provider: (provider) => {
        const made = new Map<string, MemoryToolSet>();
        return withTools(provider, (own, { session }) => {
          const tools = made.get(session.id) ?? own;
          made.set(session.id, tools);
          return tools;
        });
      },
    },
    {
      id: "tool-maps/one-map",
      flaw: "Turns down tools that are not of the latest map.",
      kills: { "tool-maps/locked-scope": "dead", "tool-maps/repeated": "dead" },
      spares: ["tool-answers/json"],
      provider: (provider) => {
        let made = 0;
        return withTools(provider, (own) => {
          made += 1;
          const map = made;
          const execute =
            (tool: MemoryTool): MemoryTool["execute"] =>
            (input, call) => {
              if (map !== made) throw new MemoryError("invalid_tools", "These tools were replaced.");
              return tool.execute(input, call);
            };
          return Object.fromEntries(
            Object.entries(own).map(([name, tool]) => [name, { ...tool, execute: execute(tool) }]),
          );
        });
      },
    },
    {
      id: "tool-maps/new-names",
      flaw: "Numbers its tools anew in every map.",
      kills: { "tool-maps/repeated": "names" },
      spares: ["tool-maps/names"],
      provider: (provider) => {
        let made = 0;
        return withTools(provider, ({ search_memories: search, ...own }) => {
          made += 1;
          return { ...own, [`search_memories_${made}`]: search as MemoryTool }; // the reference has it
        });
      },
    },
    {
      id: "tool-maps/reads-first",
      flaw: "Reads the store to describe its tools.",
      kills: { "tool-maps/repeated": "requests" },
      spares: ["tool-maps/locked-scope", "tool-answers/json"],
      provider: (provider, { store }) =>
        withTools(provider, async (own, { memory }) => {
          await store.list(memory.scope.key, new AbortController().signal);
          return own;
        }),
    },
    {
      id: "tool-maps/class-instances",
      flaw: "Makes its tools of a class, with execute on the prototype.",
      kills: { "tool-maps/names": "members" },
      spares: ["tool-answers/json", "tool-maps/locked-scope"],
      provider: (provider) =>
        withTools(provider, (own) =>
          Object.fromEntries(
            Object.entries(own).map(([name, { execute, ...rest }]) => [
              name,
              Object.assign(Object.create({ execute }), rest),
            ]),
          ),
        ),
    },
    {
      id: "tool-maps/unbranded",
      flaw: "Hands out tools that defineTool() has not seen.",
      kills: { "tool-maps/names": "brand" },
      spares: ["tool-answers/json", "tool-maps/locked-scope"],
      provider: (provider) =>
        withTools(provider, (own) =>
          Object.fromEntries(
            Object.entries(own).map(([name, { description, inputSchema, execute }]) => [
              name,
              { description, inputSchema, execute },
            ]),
          ),
        ),
    },
    {
      id: "tool-maps/dotted-names",
      flaw: "Names a tool with a dot.",
      kills: { "tool-maps/names": "name" },
      spares: ["tool-answers/json", "tool-maps/locked-scope"],
      provider: (provider) =>
        withTools(provider, ({ forget_memory: forget, ...own }) => ({ ...own, "memory.forget": forget as MemoryTool })),
    },
  ],
});
