/**
 * Memory that works in English only: words are told apart by spaces or by [a-z], texts merge because nothing is left of
 * them, a surname like a member of Object.prototype is looked up there, and JSON.parse makes numbers of what were words.
 */
import { defineCheck } from "../check.ts";
import type { Person } from "../drive/person.ts";
import { defineFamily, type Family } from "../family.ts";
import { languageMutants } from "./language-mutants.ts";

const inLanguages: readonly (readonly [language: string, text: string, query: string, fragment: string])[] = [
  ["Chinese", "人工智能技术发展迅速", "人工智能", "发展迅速"],
  ["Japanese", "妹の誕生日は来月の土曜日です", "妹の誕生日はいつですか", "土曜日"],
  ["Thai", "ฉันชอบดื่มกาแฟร้อนตอนเช้า", "ฉันชอบดื่มอะไร", "กาแฟร้อน"],
  ["Korean", "우리 강아지 이름은 초코입니다", "강아지 이름은 뭐예요", "초코"],
  ["Arabic", "موعد الطبيب يوم الخميس", "متى موعد الطبيب", "الخميس"],
  ["Hebrew", "הפגישה עם הרופא ביום חמישי", "מתי הפגישה עם הרופא", "חמישי"],
  ["Hindi", "मेरी बहन का नाम सुनीता है", "मेरी बहन का नाम क्या है", "सुनीता"],
  ["Russian", "Мою собаку зовут Шарик", "Как зовут мою собаку", "Шарик"],
  ["Greek", "Ο σκύλος μου λέγεται Άργος", "Πώς λέγεται ο σκύλος μου", "Άργος"],
  ["French", "Le café préféré d'Éloïse est à Nîmes", "Où est le café préféré d'Éloïse", "Nîmes"],
  ["emoji", "On Fridays we eat 🍣 at home", "When do we eat 🍣 at home", "Fridays"],
  ["a snake_case identifier", "user_id goes into the second column", "user_id", "second column"],
  ["an error code", "E-1042 means that the paper is wet", "E-1042", "the paper is wet"],
  ["a long number", "12345678901234567891 is the freight number", "12345678901234567891", "freight number"],
];

const found = defineCheck({
  id: "language/found",
  clause: "MEM-LNG-01",
  title: "What was told in any language is found by a question in that language",
  reasons: {
    "not-found":
      "Words are told apart by spaces, or by letters of ASCII: use Intl.Segmenter, or n-grams where there are no spaces.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    for (const [language, text, query, fragment] of inLanguages) {
      const ann = bench.someone(handle);
      await ann.write(text);
      const recalled = await ann.recalls(query);
      if (!comparable(recalled).includes(comparable(fragment)))
        fail("not-found", `A memory with ${language} was not found by a question that shares words with it.`);
    }
  },
});

const pairs: readonly (readonly [first: string, second: string])[] = [
  ["猫が好きです", "犬が嫌いです"],
  ["Любит чёрный чай", "Живёт возле моря"],
  ["يحب القهوة", "يسكن قرب البحر"],
];

/** Not every provider keeps, or finds, a text of signs alone. One that does tells them apart. */
const inSigns: typeof pairs = [
  ["Writes in C++", "Writes in C#"],
  ["The entrance code is 1.50", "The entrance code is 150"],
  ["!!!", "???"],
  ["\u{1f44d}\u{1f44d}\u{1f44d}", "\u{1f44e}\u{1f44e}\u{1f44e}"],
];

const noMerge = defineCheck({
  id: "language/no-merge",
  clause: "MEM-LNG-02",
  title: "Two texts without a letter of ASCII, or that differ in signs, are two memories",
  reasons: {
    merged:
      "Texts are compared by a normal form that drops every letter outside ASCII, so that nothing is left of both.",
    "merged-signs": "Texts are compared by a normal form, or a collation, that ignores punctuation and emoji.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    for (const path of bench.writePaths) {
      for (const [first, second] of pairs) {
        const ann = bench.someone(handle);
        await ann.write(first, { path });
        await ann.write(second, { path });
        for (const text of [first, second]) {
          if (!comparable(await ann.recalls(text)).includes(comparable(text)))
            fail("merged", `Of two different texts written by ${path}, only one was recalled.`);
        }
      }
      for (const [first, second] of inSigns) {
        const [ann, ben] = [bench.someone(handle), bench.someone(handle)];
        const shows = async (person: Person, text: string): Promise<boolean> => {
          await bench.outcome(() => person.write(text, { path }));
          return showsAs(text, await person.recalls(text));
        };
        if (!(await shows(ann, first)) || (await shows(ann, second)) || !(await shows(ben, second))) continue;
        fail(
          "merged-signs",
          `Of two texts written by ${path} that differ in signs alone, the second was not recalled.`,
        );
      }
    }
  },
});

const reserved = ["constructor", "__proto__", "toString", "hasOwnProperty", "null", "undefined", "prototype"];

const reservedWords = defineCheck({
  id: "language/reserved-words",
  clause: "MEM-LNG-03",
  title: "Words such as constructor and __proto__ are words",
  reasons: {
    "not-found": "Words are keys of a plain object, which has members of its own: use a Map.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    for (const word of reserved) {
      const [ann, memory] = [bench.someone(handle), bench.canary()];
      await ann.write(`The word ${word} is painted on the boat called ${memory.word}`);
      if (!(await ann.recalls(word)).includes(memory.word))
        fail("not-found", `A memory with the word "${word}" was not found by it.`);
    }
  },
});

const literal: readonly (readonly [kind: string, text: string])[] = [
  ["a JSON object", '{"a":1,"b":"two words"}'],
  ["quoted text", '"these words are quoted"'],
  ["a number of 20 digits", "12345678901234567891"],
  ["a number with leading zeros", "00012345678900"],
  ["null", "null"],
  ["a small number", "12"],
  ["true", "true"],
];

const verbatim = defineCheck({
  id: "language/verbatim",
  clause: "MEM-LNG-04",
  title: "Texts that look like JSON come back as they were written",
  reasons: {
    changed: "What was read is parsed: a client parses replies by itself, or JSON.parse is tried on stored text.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    for (const path of bench.writePaths) {
      for (const [kind, text] of literal) {
        if (path === "capture" && text.length < 10) continue; // nobody has to keep so short a remark
        const ann = bench.someone(handle);
        const { state } = await bench.outcome(() => ann.write(text, { path }));
        if (state !== "fulfilled") continue; // it may refuse what says so little
        const recalled = await ann.recalls(text);
        if (!showsAs(text, recalled))
          fail("changed", `A memory that is ${kind}, written by ${path}, was not recalled as it was.`);
      }
    }
  },
});

const odd: readonly string[] = [
  "half \ud83d a pair",
  "half \ude00 a pair",
  "a\u0000b",
  "\u202eabc\u202c \u2066def\u2069", // bidirectional controls
  "a\u200db\u200cc\u2060d\ufeffe", // joiners of no width
  "a\u{e0041}\u{e0042}\u{e007f}b", // hidden tag characters
  "a\uffffb\ufdd0", // noncharacters
  `e${"\u0301".repeat(50_000)}`,
];

const oddCharacters = defineCheck({
  id: "language/odd-characters",
  clause: "MEM-LNG-05",
  title: "Odd characters are stored or refused, and harm nothing else",
  reasons: {
    "others-lost": "After a text with odd characters, other memories of the same person are not recalled.",
  },
  async run(bench, fail) {
    const handle = await bench.open();
    for (const path of bench.writePaths) {
      const [ann, before, after] = [bench.someone(handle), bench.canary(), bench.canary()];
      await ann.write(before.text);
      for (const text of odd) await bench.outcome(() => ann.write(`${text} end`, { path }));
      if (!(await ann.knows(before)))
        fail("others-lost", `After odd texts were written by ${path}, an earlier memory was not recalled.`);
      await ann.write(after.text);
      if (!(await ann.knows(after)))
        fail("others-lost", `After odd texts were written by ${path}, a new memory was not recalled.`);
    }
  },
});

const must = { level: "MUST", profile: "base" } as const;

export const language: Family = defineFamily({
  name: "language",
  clauses: [
    {
      ...must,
      id: "MEM-LNG-01",
      sentence: "Text in any language, with emoji, identifiers or long numbers, is found by words that it shares.",
      source: "P14",
    },
    {
      ...must,
      id: "MEM-LNG-02",
      sentence:
        "Two different texts do not merge because a normal form drops what tells them apart, or leaves nothing of either.",
      source: "P14",
    },
    {
      ...must,
      id: "MEM-LNG-03",
      sentence: "Query words such as `constructor` or `__proto__` are words.",
      source: "P14",
    },
    {
      ...must,
      id: "MEM-LNG-04",
      sentence: "A text that looks like a number, JSON or null is recalled as the text that it is.",
      source: "P14, C12",
    },
    {
      ...must,
      id: "MEM-LNG-05",
      sentence: "A text with odd characters is stored or refused with an error, and other memories stay as they are.",
      source: "C12",
    },
  ],
  checks: [found, noMerge, reservedWords, verbatim, oddCharacters],
  mutants: languageMutants,
});

/** Whether a text is shown as it is, or as a frame may have to write it. */
function showsAs(text: string, recalled: string): boolean {
  const forms = [text, JSON.stringify(text).slice(1, -1), text.replaceAll('"', "&quot;")];
  return forms.some((form) => recalled.includes(form));
}

/** Normal forms, case and spaces aside. */
function comparable(text: string): string {
  return text.normalize("NFC").toLowerCase().replace(/\s+/g, " ");
}
