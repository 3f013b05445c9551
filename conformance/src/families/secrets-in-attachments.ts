/**
 * Secrets in what is attached to a message. A capture that looks for them in the words, and notes the names of the files
 * beside these, keeps the key that a file is named after; so does one that keeps what is in it, or where it lies.
 */
import { MemoryError, type ModelMessage, type UserContent, type UserModelMessage } from "@keepsake/core";
import { defineCheck } from "../check.ts";
import type { Canary } from "../drive/canary.ts";
import { userMessage } from "../drive/messages.ts";
import type { Person } from "../drive/person.ts";
import { leftovers } from "../drive/secret-leftovers.ts";
import { type SecretSample, secretSamples, someSecret } from "../drive/secret-samples.ts";
import { defineFamily, type Family, type Mutant } from "../family.ts";
import { withCapture } from "../reference/changed.ts";
import { correctParts } from "../reference/parts.ts";
import type { Outcome } from "../time/kit-clock.ts";

const attachments = defineCheck({
  id: "secrets/attachments",
  clause: "MEM-SEC-16",
  title: "Beside a harmless text, a file is captured whose name, contents, address or options are a secret",
  needs: ["capture"],
  reasons: {
    name: "Names of files are stored with the text, and only the text is looked at.",
    contents: "What is in a file is stored with the text, and only the text is looked at.",
    address: "Addresses of files are stored with the text, and only the text is looked at.",
    options: "Parts are stored whole, options and all, and only their text is looked at.",
    "in-event": "An event names what is attached to a message.",
    "in-error": "A capture fails with something of an attachment in its error.",
    "text-lost": "A message with a file is not captured, although neither holds a secret.",
    "rest-lost": "For a secret in what is attached to one message, the other message of the turn is lost.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    const [ann, harmless] = [bench.someone(handle), bench.canary()];
    await ann.capture(ann.begin([messageOf(harmless, plainFile)]));
    if (!(await ann.knows(harmless))) fail("text-lost", "A text beside a harmless file was not kept.");

    const outcomes: Outcome<unknown>[] = [];
    const readers: { readonly person: Person; readonly query: string; readonly rest: Canary }[] = [];
    for (const reason of ["name", "contents", "address", "options"] as const) {
      const [person, rest] = [bench.someone(handle), bench.canary()];
      const asked = [rest];
      for (const { message, secret } of places.filter((place) => place.reason === reason)) {
        const beside = bench.canary();
        asked.push(beside);
        // The message itself may be dropped for what is attached to it. What else the person said may not.
        const others = asked.length === 2 ? [userMessage(rest.text)] : [];
        const turn = person.begin([message(secret, beside), ...others]);
        outcomes.push(await bench.outcome(() => person.capture(turn)));
      }
      readers.push({ person, rest, query: asked.map(({ query }) => query).join(" ") });
    }
    const given = places.map((place) => ({ ...place, core: place.secret.core }));
    const [found] = await leftovers(bench, { handle, given, outcomes, readers });
    if (found !== undefined) {
      const isTold = found.left === "in-event" || found.left === "in-error";
      fail(isTold ? found.left : found.given.reason, `A secret was ${found.given.what}, and ${found.where}.`);
    }
    for (const { person, rest } of readers)
      if (!(await person.knows(rest))) fail("rest-lost", "Of two messages, the one without a file was not kept.");
  },
});

/** What a wrong provider puts between a text and what was attached to it. */
const attached = "\n\nAttached: ";
const spares = ["secrets/write-paths", "secrets/capture-keeps-rest", "secrets/deep"];

export const secretsInAttachments: Family = defineFamily({
  name: "secrets in attachments",
  clauses: [
    {
      id: "MEM-SEC-16",
      level: "MUST",
      profile: "strict",
      sentence:
        "No secret in what stands beside the text of a captured message, such as a file's name, contents, address or options, is stored, sent, shown, or told in an event or an error; the turn's other messages are kept.",
      source: "C10, C7, C8",
    },
  ],
  checks: [attachments],
  mutants: [
    storing("secrets/stores-names", "Stores the names of attached files beside the text.", "name", (part) =>
      String(Reflect.get(part, "filename") ?? ""),
    ),
    storing("secrets/stores-files", "Stores what is in attached files beside the text.", "contents", (part) => {
      const data: unknown = Reflect.get(part, "data");
      const inline: unknown = typeof data === "string" || ArrayBuffer.isView(data) ? data : Object(data).data;
      if (inline !== undefined) return contentsOf(inline);
      return String(Object(data).text ?? "");
    }),
    storing("secrets/stores-base64", "Stores files as they come, in base64.", "contents", (part) => {
      const data: unknown = Reflect.get(part, "data");
      return typeof data === "string" && !data.startsWith("https:") ? data : "";
    }),
    storing("secrets/stores-addresses", "Stores the addresses of attached files beside the text.", "address", (part) =>
      [Reflect.get(part, "data"), Reflect.get(part, "image")]
        .filter((each) => typeof each === "string" && each.startsWith("https:"))
        .join(" "),
    ),
    storing("secrets/stores-options", "Stores the options of parts beside their text.", "options", (part) =>
      JSON.stringify(Reflect.get(part, "providerOptions") ?? ""),
    ),
    {
      id: "secrets/stores-message-options",
      flaw: "Stores the options of messages beside their text.",
      kills: { "secrets/attachments": "options" },
      spares,
      parts: ({ textOf }) => ({
        textOf: (message) => withNote(textOf(message), JSON.stringify(message.providerOptions)),
        secretsIn: inText,
      }),
    },
    {
      id: "secrets/tells-of-files",
      flaw: "Reports an event for each captured turn, with the parts of its messages.",
      kills: { "secrets/attachments": "in-event" },
      spares,
      provider: (provider, { onEvent }) =>
        withCapture(provider, async (own, context) => {
          onEvent?.({
            code: "capture_completed",
            slot: "memory",
            input: structuredClone(context.turn?.input),
          } as never);
          return own(context);
        }),
    },
    {
      id: "secrets/quotes-files",
      flaw: "Fails the capture of a file that is named after a secret, and quotes its name.",
      kills: { "secrets/attachments": "in-error" },
      spares,
      provider: (provider) =>
        withCapture(provider, (own, context) => {
          const name = (context.turn?.input ?? []).flatMap(partsOf).map((part) => Reflect.get(part, "filename"));
          const secret = name.find((each) => correctParts.secretsIn(String(each)).length > 0);
          if (secret !== undefined) throw new MemoryError("secret_refused", `The file ${secret} is not for memory.`);
          return own(context);
        }),
    },
    {
      id: "secrets/drops-files",
      flaw: "Captures no message to which something is attached.",
      kills: { "secrets/attachments": "text-lost" },
      spares,
      parts: ({ isCaptured }) => ({
        isCaptured: (message) =>
          isCaptured(message) && partsOf(message).every((part) => Reflect.get(part, "type") === "text"),
      }),
    },
    {
      id: "secrets/drops-the-turn-for-a-file",
      flaw: "Captures nothing of a turn in which a file is named after a secret.",
      kills: { "secrets/attachments": "rest-lost" },
      spares,
      parts: ({ turnMessages, secretsIn }) => ({
        turnMessages: (messages, input) => {
          const names = input.flatMap(partsOf).map((part) => String(Reflect.get(part, "filename")));
          return names.some((name) => secretsIn(name).length > 0) ? [] : turnMessages(messages, input);
        },
      }),
    },
  ],
});

type Part = Exclude<UserContent, string>[number];

interface Place {
  readonly what: string;
  readonly reason: "name" | "contents" | "address" | "options";
  readonly secret: SecretSample;
  readonly message: (secret: SecretSample, beside: Canary) => ModelMessage;
}

const base64 = (text: string): string => Buffer.from(text).toString("base64");
const file = { type: "file", mediaType: "text/plain" } as const;
const plainFile: Part = { ...file, filename: "shopping.txt", data: base64("Tea and bread.") };

/** What a secret is, where it stands, and the part of a message that has it there. */
function place(
  what: string,
  reason: Place["reason"],
  { secret, part }: { readonly secret: SecretSample | undefined; readonly part: (secret: string) => Part },
): Place {
  const message: Place["message"] = ({ text }, beside) => messageOf(beside, part(text));
  return { what, reason, secret: secret ?? someSecret(150), message };
}

const places: readonly Place[] = [
  place("the name of a file", "name", {
    secret: someSecret(151),
    part: (secret) => ({ ...plainFile, filename: `${secret}.txt` }),
  }),
  place("in the name of a file", "name", {
    secret: secretSamples[1],
    part: (secret) => ({ ...plainFile, filename: `keys/export (${secret}).csv` }),
  }),
  place("in a file given as text", "contents", {
    secret: someSecret(152),
    part: (secret) => ({ ...plainFile, data: { type: "text", text: `The key is ${secret}` } }),
  }),
  place("in a file given in base64", "contents", {
    secret: someSecret(153),
    part: (secret) => ({ ...plainFile, data: base64(`The key is ${secret}`) }),
  }),
  place("in a file given in base64, as data of its own", "contents", {
    secret: someSecret(154),
    part: (secret) => ({ ...plainFile, data: { type: "data", data: base64(`The key is ${secret}`) } }),
  }),
  place("in a file given as bytes", "contents", {
    secret: secretSamples[5],
    part: (secret) => ({ ...plainFile, data: new Uint8Array(Buffer.from(secret)) }),
  }),
  place("in a file given as a data URL", "contents", {
    secret: someSecret(155),
    part: (secret) => ({ ...plainFile, data: `data:text/plain;base64,${base64(`The key is ${secret}`)}` }),
  }),
  place("in the address of a file", "address", {
    secret: someSecret(156),
    part: (secret) => ({ ...file, data: `https://files.widget-works.net/plan.txt?token=${secret}` }),
  }),
  place("in the address of a picture", "address", {
    secret: someSecret(157),
    part: (secret) => ({ type: "image", image: `https://files.widget-works.net/${secret}/plan.png` }),
  }),
  place("among the options of a file", "options", {
    secret: someSecret(158),
    part: (secret) => ({ ...plainFile, providerOptions: { files: { note: `The key is ${secret}` } } }),
  }),
  {
    what: "among the options of a text",
    reason: "options",
    secret: someSecret(159),
    message: ({ text: key }, { text }) => ({
      role: "user",
      content: [{ type: "text", text, providerOptions: { files: { key } } }, plainFile],
    }),
  },
  {
    what: "among the options of a message",
    reason: "options",
    secret: someSecret(160),
    message: ({ text: key }, beside) => ({ ...messageOf(beside, plainFile), providerOptions: { files: { key } } }),
  },
];

function messageOf({ text }: Canary, part: Part): UserModelMessage {
  return { role: "user", content: [{ type: "text", text }, part] };
}

function partsOf({ content }: ModelMessage): readonly object[] {
  return typeof content === "string" ? [] : content;
}

/** A provider that stores this of each part beside the text of a message, and looks at the text alone. */
function storing(id: Mutant["id"], flaw: string, reason: Place["reason"], of: (part: object) => string): Mutant {
  return {
    id,
    flaw,
    kills: { "secrets/attachments": reason },
    spares,
    parts: ({ textOf }) => ({
      textOf: (message) => withNote(textOf(message), partsOf(message).map(of).filter(Boolean).join(" ")),
      secretsIn: inText,
    }),
  };
}

function withNote(text: string, note: string | undefined): string {
  return note === undefined || note === "" ? text : `${text}${attached}${note}`;
}

function inText(text: string): readonly string[] {
  return correctParts.secretsIn(text.split(attached)[0] ?? "");
}

/** What is in a file that is given as it is: bytes, base64, or a data URL. */
function contentsOf(inline: unknown): string {
  if (typeof inline !== "string") return Buffer.from(inline as Uint8Array).toString();
  return inline.startsWith("https:") ? "" : Buffer.from(inline.replace(/^data:.*?,/, ""), "base64").toString();
}
