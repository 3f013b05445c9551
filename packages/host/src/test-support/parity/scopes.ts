/** Sections 2 to 4 of the reference: scopes, namespaces, and the keys made of them. */
import { byPrincipal } from "@keepsake/core/scope";
import { byPrincipal as evesByPrincipal } from "eve/memory/scope";
import {
  ann,
  ben,
  calls,
  inTurn,
  keyed,
  memories,
  notes,
  outcomes,
  type ParityScript,
  prompts,
  says,
  slot,
} from "./script.ts";

const knows = { "turn.started": inTurn(keyed({ k: "mem" })) };

/** A slot whose scope is this one, in two turns. */
function ofScope(clause: string, title: string, scope: unknown): ParityScript {
  return {
    clause,
    title,
    scene: () => ({ slots: { notes: slot(knows, { scope } as never) }, play: says("one", "two") }),
  };
}

/** What is refused fails the turn, before any provider is called. */
function refuses(clause: string, title: string, definition: object): ParityScript {
  return {
    clause,
    title,
    scene: () => ({ slots: { notes: slot(knows, definition), other: slot(knows) }, play: says("one") }),
  };
}

function principals(clause: string, helper: typeof byPrincipal, title: string): ParityScript {
  return {
    clause,
    title,
    scene: () => ({
      slots: { notes: slot(knows, { scope: helper }) },
      play: async (agent) => {
        await agent.turn("a user", { as: ann });
        await agent.turn("with an issuer", { as: { ...ann, issuer: "https://issuer", subject: "s" } });
        await agent.turn("with an empty issuer", { as: { ...ann, issuer: "" } });
        for (const principalType of ["service", "other", "unknown", "anonymous", "runtime", "local-dev"]) {
          await agent.turn(principalType, { as: { ...ann, principalType } });
        }
        await agent.turn("nobody", { as: null });
      },
    }),
  };
}

export const scopes: readonly ParityScript[] = [
  ofScope("2.6", "a text", "u1"),
  ofScope("2.6", "a resolver", () => "u1"),
  ofScope("2.6", "a resolver that takes its time", async () => ["u1", "v"]),
  ofScope("2.6", "null", null),
  ofScope("2.10", "nothing is trimmed, folded or normalised", () => [" A ", "e\u0301", "\u00e9"]),
  ofScope("2.10", "a lone surrogate", () => "\ud800"),
  ofScope("3.5", "a tuple of one is not a text", () => ["u1"]),
  ofScope("3.5", "a text with a NUL is not a tuple", "a\0b"),
  ofScope("2.8", "a tuple of sixteen", () => Array.from({ length: 16 }, (_, index) => `p${index}`)),
  ofScope("2.8", "a part of 1,024 bytes", "é".repeat(512)),
  ofScope("2.8", "4,096 encoded bytes", () => ["a".repeat(1024), "b".repeat(1024), "c".repeat(1024), "d".repeat(959)]),
  refuses("2.8", "a tuple of seventeen is refused", { scope: () => Array.from({ length: 17 }, () => "p") }),
  refuses("2.8", "an empty tuple is refused", { scope: () => [] }),
  refuses("2.8", "a blank part is refused", { scope: () => ["a", " \t"] }),
  refuses("2.8", "a part of 1,025 bytes is refused", { scope: `${"é".repeat(512)}x` }),
  refuses("2.8", "more than 4,096 encoded bytes are refused", {
    scope: () => ["a", "b", "c", "d"].map((letter) => letter.repeat(1024)),
  }),
  refuses("2.8", "a blank namespace is refused", { namespace: " " }),
  refuses("2.9", "undefined is refused", { scope: () => undefined }),
  refuses("2.9", "an undefined namespace is refused", { namespace: () => undefined }),
  refuses("2.7", "a resolver that throws fails the turn", {
    scope: () => {
      throw new Error("no directory");
    },
  }),
  {
    clause: "2.6",
    title: "a namespace is not resolved without a scope, and null for one turns the slot off",
    scene: (note) => ({
      slots: {
        off: slot(knows, { scope: null, namespace: () => void note("asked") as never }),
        out: slot(knows, { namespace: () => null }),
        on: slot(knows, { namespace: async ({ appRoot, node, slot: name }) => [appRoot, node, name].join(" ") }),
      },
      play: says("one"),
    }),
  },
  {
    clause: "2.12",
    title: "what a scope resolver is told",
    scene: (note) => ({
      slots: {
        notes: slot(knows, {
          scope: ({ session, abortSignal }) => {
            note({ session: { id: session.id, auth: session.auth }, aborted: abortSignal.aborted });
            return session.auth.current?.principalId ?? null;
          },
        }),
      },
      play: async (agent) => {
        await agent.turn("one", { as: ann });
        await agent.turn("two", { as: ben });
      },
    }),
    look: (traces) => [notes(traces), calls("memory")(traces)],
  },
  {
    clause: "2.13",
    title: "two slots of one namespace and scope have one key, and keep their records apart",
    scene: () => ({
      slots: {
        a: slot({ "turn.started": inTurn(keyed({ same: "mem of a" })) }),
        b: slot({ "turn.started": inTurn(keyed({ same: "mem of b" })) }),
      },
      play: says("one", "two"),
    }),
  },
  {
    clause: "2.14",
    title: "the default namespace of a local application",
    scene: () => {
      const { namespace: _, ...unnamed } = slot(knows);
      return { slots: { profile: unnamed }, play: says("one") };
    },
  },
  {
    clause: "2.15",
    title: "the default namespace of a snapshot that is built while developing",
    appRoot: "/app/.eve/dev-runtime/snapshots/8f3a/source",
    scene: () => {
      const { namespace: _, ...unnamed } = slot({
        "turn.started": ({ memory }) => ({ messages: [{ content: `mem ${memory.scope.namespace}` }] }),
      });
      return { slots: { profile: unnamed }, play: says("one") };
    },
    look: memories,
    differs: {
      because: "memory must survive a build, so it belongs to the project and not to the snapshot",
      eve: [
        [
          'user: mem ["eve-memory-default-namespace-v1","local","Hv9IX9GOvRhslbBs_3JroNk5dc85zWWa3o96qCY9J9E","__root__","profile"]',
          "user: one",
        ],
      ],
      keepsake: [
        [
          'user: mem ["eve-memory-default-namespace-v1","local","9TtSrW0hzOty36ePtnYU_hTxEMWOaEErAVCNakhVAcM","__root__","profile"]',
          "user: one",
        ],
      ],
    },
  },
  {
    clause: "2.11",
    title: "a slot that is turned off hides what it recalled, in both visibilities, and brings it back",
    scene: () => {
      let scope: string | null = "u1";
      const resolver = () => scope;
      return {
        slots: {
          mine: slot({ "turn.started": inTurn(keyed({ k: "mem mine" })) }, { scope: resolver }),
          ours: slot({ "turn.started": inTurn(keyed({ k: "mem ours" })) }, { scope: resolver, visibility: "session" }),
        },
        play: async (agent) => {
          await agent.turn("on");
          scope = null;
          await agent.turn("off");
          scope = "u1";
          await agent.turn("on again");
        },
      };
    },
  },
  principals("4.2", byPrincipal, "our helper gives each caller the same key in both"),
  principals("4.2", evesByPrincipal as never, "eve's helper gives each caller the same key in both"),
  {
    clause: "4.1",
    title: "the one who opened a session has no part in the scope of who speaks now",
    scene: () => ({
      slots: { notes: slot(knows, { scope: byPrincipal }) },
      play: async (agent) => {
        await agent.turn("opens", { as: ann });
        await agent.turn("goes on", { as: ben });
        await agent.turn("nobody", { as: null });
      },
    }),
    look: (traces) => [calls("memory", "session")(traces), prompts(traces), outcomes(traces)],
  },
];
