/**
 * What a provider says of itself is true. Hosts and people choose by it: who declares that memory outlives the process,
 * that nothing is captured, or that an erasure is done, is believed until it matters.
 */
import { capabilityValues, describeProvider, extendProvider, type MemoryCapabilities } from "@keepsake/core";
import { defineCheck } from "../check.ts";
import { defineFamily, type Family } from "../family.ts";
import { declaring, lookingAt, ofNobody, toolsFrom } from "../reference/standing-before.ts";

const agree = defineCheck({
  id: "capabilities/agree",
  clause: "MEM-CPB-01",
  title: "Provider and subject declare known capabilities, and the same",
  reasons: {
    "unknown-capability":
      "Only capabilities that can be verified can be declared: see MemoryCapabilities of @keepsake/core.",
    disagree: "The subject says something else than the provider. Leave it to the provider: drop it from the subject.",
  },
  async run(bench, fail) {
    const { declaration } = await bench.open();
    const [own, told] = [declaration?.capabilities ?? {}, bench.subject.capabilities ?? {}];
    for (const [key, value] of [...Object.entries(own), ...Object.entries(told)]) {
      const isKnown =
        Object.hasOwn(capabilityValues, key) && capabilityValues[key as keyof MemoryCapabilities].includes(value);
      if (!isKnown)
        fail("unknown-capability", "A key is declared that is no capability, or a value that it cannot have.");
    }
    const other = Object.entries(told).find(
      ([key, value]) => Object.hasOwn(own, key) && Reflect.get(own, key) !== value,
    );
    if (other !== undefined)
      fail("disagree", `The provider declares something else as "${other[0]}" than the subject.`);
  },
});

const captureNone = defineCheck({
  id: "capabilities/capture-none",
  clause: "MEM-CPB-02",
  title: "Where nothing is captured, a whole turn leaves no memory",
  reasons: {
    "captures-anyway": "What a person said was recalled later, although it declares to capture nothing.",
    forgotten: "What is written where something was said before is not recalled.",
  },
  async run(bench, fail) {
    const { capabilities } = bench.facts;
    if (capabilities.capture !== "none") bench.notApplicable("It captures.");
    const person = bench.someone(await bench.open());
    const [said, written] = [bench.canary(), bench.canary()];
    await person.say(said.text);
    await person.write(written.text);
    if (await person.knows(said)) fail("captures-anyway", "What was only said was recalled in a new session.");
    if (!(await person.knows(written))) fail("forgotten", "What was written was not recalled.");
  },
});

const captureDeclared = defineCheck({
  id: "capabilities/capture-declared",
  clause: "MEM-CPB-03",
  title: "What is declared to be captured is captured: a person's words, or the answers too",
  reasons: {
    "no-handler": "It declares to capture, and has no capture handler that a host could call.",
    "misses-user": "What a person said in a completed turn was not recalled later.",
    "misses-assistant": "It declares to capture all, and forgets what the assistant said.",
    "takes-assistant": "It declares to capture what people say, and keeps the assistant's words too. Declare all.",
  },
  async run(bench, fail) {
    const { declared, captures } = bench.facts;
    const capture = declared.capture ?? "none";
    if (capture === "none") bench.notApplicable("It does not declare to capture.");
    if (!captures) fail("no-handler", "There was no capture handler.");
    const person = bench.someone(await bench.open());
    const [said, answered] = [bench.canary(), bench.canary()];
    const turn = person.begin(said.text);
    await person.capture(turn, { messages: [...turn.input, { role: "assistant", content: answered.text }] });
    const [knowsSaid, knowsAnswered] = [await person.knows(said), await person.knows(answered)];
    if (!knowsSaid) fail("misses-user", "What a person had said was not recalled.");
    if (capture === "all" && !knowsAnswered) fail("misses-assistant", "What the assistant had said was not recalled.");
    if (capture === "user" && knowsAnswered) fail("takes-assistant", "What the assistant had said was recalled.");
  },
});

const partitionShared = defineCheck({
  id: "capabilities/partition-shared",
  clause: "MEM-CPB-04",
  title: "It keeps scopes apart, or is shown as one that cannot",
  reasons: { shared: "It declares that its service cannot keep scopes apart: give each tenant a service of its own." },
  async run(bench, fail) {
    if (bench.facts.capabilities.partition === "shared") fail("shared", 'It declares its partition as "shared".');
  },
});

export const capabilities: Family = defineFamily({
  name: "capabilities",
  clauses: [
    {
      id: "MEM-CPB-01",
      level: "MUST",
      profile: "base",
      sentence:
        "Only known capabilities are declared, and what the subject says of the provider is what it declares itself.",
      source: "K4, C6",
    },
    {
      id: "MEM-CPB-02",
      level: "MUST",
      profile: "base",
      sentence: "A provider that captures nothing keeps nothing of what is only said.",
      source: "K4, P9",
    },
    {
      id: "MEM-CPB-03",
      level: "MUST",
      profile: "base",
      sentence: "A provider captures from completed turns what it declares to capture, and no more.",
      source: "K4, P9",
    },
    {
      id: "MEM-CPB-04",
      level: "SHOULD",
      profile: "base",
      sentence: "A provider keeps scopes apart; one that cannot is shown as such.",
      source: "K4, P1",
    },
  ],
  checks: [agree, captureNone, captureDeclared, partitionShared],
  mutants: [
    {
      id: "capabilities/unknown-key",
      flaw: "Declares something that nobody can verify.",
      kills: { "capabilities/agree": "unknown-capability" },
      spares: ["shape/keys", "capabilities/capture-declared"],
      provider: (provider) => {
        const declaration = describeProvider(provider);
        const capabilities = { ...declaration?.capabilities, encryption: "at-rest" };
        return Object.defineProperty({ ...provider }, Symbol.for("keepsake:provider"), {
          value: { ...declaration, capabilities }, // written by hand, without defineMemoryProvider()
        });
      },
    },
    {
      id: "capabilities/subject-knows-better",
      flaw: "Its subject says that it captures all, and the provider that it captures what people say.",
      kills: { "capabilities/agree": "disagree" },
      spares: ["shape/keys", "capabilities/capture-declared"],
      subject: () => ({ capabilities: { capture: "all" } }),
    },
    {
      id: "capabilities/captures-anyway",
      flaw: "Declares to capture nothing, and captures.",
      kills: { "capabilities/capture-none": "captures-anyway" },
      spares: ["capabilities/agree", "shape/keys"],
      provider: (provider) => declaring(provider, { capture: "none" }),
    },
    {
      id: "capabilities/already-said",
      flaw: "Captures nothing, and saves nothing in a session that has talked, as if that had been captured.",
      kills: { "capabilities/capture-none": "forgotten" },
      spares: ["capabilities/agree", "shape/keys"],
      provider: (provider) => {
        const talked = new Set<string>();
        const looking = lookingAt(extendProvider(provider, { capture: {} }), ({ session, turn }) => {
          if (turn !== null && turn.input.length > 0) talked.add(session.id);
        });
        const silent = toolsFrom(looking, (context) => (talked.has(context.session.id) ? ofNobody(context) : context));
        return declaring(silent, { capture: "none" });
      },
    },
    {
      id: "capabilities/no-handler",
      flaw: "Declares to capture what people say, and has no handler for it.",
      kills: { "capabilities/capture-declared": "no-handler" },
      spares: ["capabilities/agree", "shape/keys"],
      provider: (provider) => extendProvider(provider, { capture: {} }),
    },
    {
      id: "capabilities/compaction-only",
      flaw: "Declares to capture what people say, and does when a history is compacted.",
      kills: { "capabilities/capture-declared": "misses-user" },
      spares: ["capabilities/agree", "shape/keys"],
      provider: (provider) => {
        const handler = provider.capture?.["compaction.requested"];
        return extendProvider(provider, { capture: handler === undefined ? {} : { "compaction.requested": handler } });
      },
    },
    {
      id: "capabilities/misses-answers",
      flaw: "Declares to capture all, and captures only what people say.",
      kills: { "capabilities/capture-declared": "misses-assistant" },
      spares: ["capabilities/agree", "shape/keys"],
      provider: (provider) => declaring(provider, { capture: "all" }),
    },
    {
      id: "capabilities/takes-answers",
      flaw: "Declares to capture what people say, and captures all.",
      kills: { "capabilities/capture-declared": "takes-assistant" },
      spares: ["capabilities/agree", "shape/keys"],
      parts: ({ isCaptured }) => ({ isCaptured: (message) => message.role === "assistant" || isCaptured(message) }),
    },
    {
      id: "capabilities/shared",
      flaw: "Declares that it does not keep scopes apart.",
      kills: { "capabilities/partition-shared": "shared" },
      spares: ["capabilities/agree", "capabilities/capture-declared"],
      provider: (provider) => declaring(provider, { partition: "shared" }),
    },
  ],
});
