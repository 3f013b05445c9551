/**
 * One instance of a provider serves many: several slots of a host, and callers who take turns in one session. What an
 * instance keeps from the first call, from the latest, or by the session leaks here and nowhere else.
 */
import { extendProvider, type MemoryToolSet, type MemoryToolsContext } from "@keepsake/core";
import { byPrincipal } from "@keepsake/core/scope";
import { defineCheck } from "../check.ts";
import { Hosted, signedIn } from "../drive/hosted.ts";
import { defineFamily, type Family } from "../family.ts";
import { answering, toolsFrom } from "../reference/standing-before.ts";

const forgotten = "What was told through the host does not reach the store, or recall does not find it again.";

const twoSlots = defineCheck({
  id: "one-instance/two-slots",
  clause: "MEM-ONE-01",
  title: "One provider in two slots keeps them apart",
  reasons: {
    forgotten,
    "other-slot":
      "What one slot is told shows in the other: something is kept from the first call, or from the latest.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    const [work, home] = [
      { work: { namespace: "work", scope: "somebody" } },
      { home: { namespace: "home", scope: "somebody" } },
    ];
    const [atWork, atHome] = [new Hosted(bench, handle, work), new Hosted(bench, handle, home)];
    const [ofWork, ofHome, savedAtWork, savedAtHome] = [bench.canary(), bench.canary(), bench.canary(), bench.canary()];
    await atWork.tell(ofWork.text, { slot: "work" });
    await atHome.tell(ofHome.text, { slot: "home" });
    const both = new Hosted(bench, handle, { ...work, ...home });
    const session = both.host.session();
    const turn = await both.start(session, "Please keep this.");
    await both.useTool(turn, "work", "save", savedAtWork.text);
    await both.useTool(turn, "home", "save", savedAtHome.text);
    const found = JSON.stringify([await both.useTool(turn, "home", "search", ofWork.query)]);
    await both.complete(session);
    if (found.includes(ofWork.word)) fail("other-slot", "The search tool of one slot found what the other was told.");
    const queries = [ofWork, ofHome, savedAtWork, savedAtHome].map(({ query }) => query).join(" ");
    const [shownAtWork, shownAtHome] = [
      await atWork.ask(atWork.host.session(), queries),
      await atHome.ask(atHome.host.session(), queries),
    ];
    if (!shownAtWork.last.includes(ofWork.word) || !shownAtHome.last.includes(ofHome.word)) {
      fail("forgotten", "A slot did not recall what it was told.");
    }
    const [notAtWork, notAtHome] = [
      [ofHome, savedAtHome],
      [ofWork, savedAtWork],
    ];
    if (notAtWork?.some(({ word }) => shownAtWork.all.includes(word)))
      fail("other-slot", "One slot recalled the other's.");
    if (notAtHome?.some(({ word }) => shownAtHome.all.includes(word)))
      fail("other-slot", "One slot recalled the other's.");
  },
});

const callersChange = defineCheck({
  id: "one-instance/callers-change",
  clause: "MEM-ONE-02",
  title: "In one session, each caller is shown their own memory",
  reasons: {
    forgotten,
    "other-caller":
      "What is recalled depends on the session instead of the scope: two callers of one session are two scopes.",
  },
  async run(bench, fail) {
    if (bench.writePaths[0] === "import") bench.untestable("It is written to by import only.");
    const hosted = new Hosted(bench, await bench.open(), {
      memory: { namespace: "conformance", scope: byPrincipal },
    });
    const [ann, ben] = [signedIn("ann"), signedIn("ben")];
    const [tea, bees] = [bench.canary(), bench.canary()];
    await hosted.tell(tea.text, { slot: "memory", auth: ann });
    await hosted.tell(bees.text, { slot: "memory", auth: ben });
    const session = hosted.host.session();
    const query = `${tea.query} ${bees.query}`;
    const [first, second] = [
      await hosted.ask(session, query, { auth: ann }),
      await hosted.ask(session, query, { auth: ben }),
    ];
    const third = await hosted.ask(session, query, { auth: ann });
    if (first.all.includes(bees.word) || second.all.includes(tea.word) || third.all.includes(bees.word)) {
      fail("other-caller", "One caller's prompt held what another had told.");
    }
    const all = [first.last.includes(tea.word), second.last.includes(bees.word), third.last.includes(tea.word)];
    if (all.includes(false)) fail("forgotten", "A caller's prompt did not hold what that caller had told.");
  },
});

export const oneInstance: Family = defineFamily({
  name: "one-instance",
  clauses: [
    {
      id: "MEM-ONE-01",
      level: "MUST",
      profile: "base",
      sentence: "One provider instance serves several slots, and what one slot is told shows in no other.",
      source: "P1, P12, H1, E9.9",
    },
    {
      id: "MEM-ONE-02",
      level: "MUST",
      profile: "base",
      sentence: "When callers take turns in one session, each is recalled only what is in their own scope.",
      source: "P1, H2, E6.14, E6.16",
    },
  ],
  checks: [twoSlots, callersChange],
  mutants: [
    {
      id: "one-instance/first-tools",
      flaw: "Makes its tools once, for the slot that asks first.",
      kills: { "one-instance/two-slots": "other-slot" },
      spares: ["hosting/conversation", "one-instance/callers-change"],
      provider: (provider) => {
        let first: MemoryToolsContext | undefined;
        return toolsFrom(provider, (context) => {
          first ??= context;
          return first;
        });
      },
    },
    {
      id: "one-instance/latest-tools",
      flaw: "Its tools work for the slot that tools() was called for last.",
      kills: { "one-instance/two-slots": "other-slot" },
      spares: ["hosting/conversation", "one-instance/callers-change"],
      provider: (provider) => {
        let latest: MemoryToolSet | null = null;
        return extendProvider(provider, {
          async tools(context) {
            latest = (await provider.tools?.(context)) ?? {};
            const tools = Object.entries(latest).map(([name, tool]) => [
              name,
              { ...tool, execute: (...call: Parameters<typeof tool.execute>) => latest?.[name]?.execute(...call) },
            ]);
            return Object.fromEntries(tools);
          },
        });
      },
    },
    {
      id: "one-instance/recall-by-session",
      flaw: "Keeps what it recalled by the session, whoever is speaking in it.",
      kills: { "one-instance/callers-change": "other-caller" },
      spares: ["hosting/conversation", "one-instance/two-slots"],
      provider: (provider) => {
        const recalled = new Map<string, unknown>();
        return answering(provider, (result, { session }) => {
          recalled.set(session.id, recalled.get(session.id) ?? result);
          return recalled.get(session.id);
        });
      },
    },
    {
      id: "one-instance/first-caller",
      flaw: "Holds a session to the scope that it began with, and recalls nothing for another.",
      kills: { "one-instance/callers-change": "forgotten" },
      spares: ["hosting/conversation", "one-instance/two-slots"],
      provider: (provider) => {
        const scopes = new Map<string, string>();
        return answering(provider, (result, { session, memory }) => {
          const first = scopes.get(session.id) ?? memory.scope.key;
          scopes.set(session.id, first);
          return first === memory.scope.key ? result : null;
        });
      },
    },
  ],
});
