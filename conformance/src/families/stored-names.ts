/**
 * Names that scopes are stored under. A provider that hashes keys, and takes what looks hashed as it is, gives whoever comes
 * with another scope's name all that is stored under it.
 */
import { createHash } from "node:crypto";
import { defineCheck } from "../check.ts";
import { pathShowing } from "../drive/shown.ts";
import { defineFamily, type Family } from "../family.ts";

const mostNames = 16;

const storedNames = defineCheck({
  id: "partitions/stored-names",
  clause: "MEM-PAR-04",
  title: "A key that is a name under which the backend keeps another scope shows nothing of that",
  needs: ["backend"],
  reasons: {
    "other-scope":
      "A key that has the form of a stored name is used as it is, and others become such names: hash each key that is not of the derived form.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    let tried = 0;
    for (const key of [undefined, "a key of its own"]) {
      const [person, memory] = [handle.person({ scope: "ann", ...(key === undefined ? {} : { key }) }), bench.canary()];
      const before = bench.backend.observed().length;
      await person.write(memory.text);
      if (!(await person.knows(memory))) continue;
      const sent = bench.backend.observed().slice(before);
      const texts = [...sent.map((exchange) => exchange.sent), ...(await bench.backend.contents())];
      for (const name of namesIn(texts).filter((each) => each !== person.key && !bench.credential.includes(each))) {
        const other = handle.person({ scope: "somebody else", key: name });
        const outcome = await bench.outcome(() => other.recalls(memory.query));
        tried += 1;
        if (outcome.state !== "fulfilled") continue;
        if (pathShowing([{ path: "recall", text: outcome.value }], memory.word) !== undefined)
          fail(
            "other-scope",
            "Under a key that is the name of something stored, recall showed another scope's memory.",
          );
      }
    }
    if (tried === 0) bench.notApplicable("Its backend is told no names but the keys themselves.");
  },
});

export const storedNamesOfScopes: Family = defineFamily({
  name: "stored names",
  clauses: [
    {
      id: "MEM-PAR-04",
      level: "MUST",
      profile: "strict",
      sentence: "A key that is the name under which another scope is stored is a scope of its own.",
      source: "P1, C2",
    },
  ],
  checks: [storedNames],
  mutants: [
    {
      id: "partitions/takes-hashes-as-they-are",
      flaw: "Hashes keys, and leaves those alone that look like a hash.",
      kills: { "partitions/stored-names": "other-scope" },
      spares: ["isolation/matrix", "partitions/opaque-keys", "isolation/look-alike-keys"],
      parts: ({ partition }) => ({
        partition: (key) =>
          /^[0-9a-f]{64}$/.test(key) ? key : createHash("sha256").update(partition(key)).digest("hex"),
      }),
    },
  ],
});

/** Long tokens, and digests within them, the earliest first. */
function namesIn(texts: readonly string[]): readonly string[] {
  const tokens = texts.flatMap((text) => text.match(/[A-Za-z0-9_-]{16,}/g) ?? []);
  return [...new Set(tokens.flatMap((token) => [token, ...(token.match(/[0-9a-f]{32,}/g) ?? [])]))].slice(0, mostNames);
}
