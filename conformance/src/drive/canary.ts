/** Unique words to be remembered, and how to find traces of them wherever something may have kept or said them. */

export interface Canary {
  /** What only the memory holds. Lower-case letters, like a word of no language. */
  readonly word: string;
  /** What memory and question share. */
  readonly topic: string;
  readonly text: string;
  /** Asks for the memory without holding its word. */
  readonly query: string;
}

const consonants = "bdfgklmnprstvz";
const vowels = "aeiou";

/** As many words as a source may hand out without meeting the next one's. */
const wordsEach = 2 ** 20;

/** A source of canaries: always the same ones in the same order, none of them twice, and none of another source's. */
export function canaries(source: number): (about?: string) => Canary {
  let made = source * wordsEach;
  const word = (): string => {
    made += 1;
    return spell(made);
  };
  return (about = "") => {
    const topic = word();
    const hidden = word();
    const text = `About ${topic}${about === "" ? "" : ` (${about})`}: ${hidden} was chosen.`;
    return { word: hidden, topic, text, query: `What was chosen about ${topic}?` };
  };
}

/** The nth word: eight letters, far from its neighbours, so that no word is like another or a part of it. */
function spell(n: number): string {
  let rest = Math.imul(n, 2_654_435_761) >>> 0; // Knuth's multiplicative hash: one-to-one on 32 bits
  let word = "";
  for (let syllable = 0; syllable < 6; syllable += 1) {
    word += consonants[rest % consonants.length];
    rest = Math.floor(rest / consonants.length);
    word += vowels[rest % vowels.length];
    rest = Math.floor(rest / vowels.length);
  }
  return word;
}

/** Whether any of the texts holds the secret: as it is, in base64 at any offset, in hex, or as a URL or JSON would have it. */
export function holds(texts: Iterable<string>, secret: string): boolean {
  const spellings = spellingsOf(secret);
  for (const text of texts) {
    const lower = text.toLowerCase();
    if (spellings.exact.some((spelling) => text.includes(spelling))) return true;
    if (spellings.folded.some((spelling) => lower.includes(spelling))) return true;
  }
  return false;
}

function spellingsOf(secret: string): { readonly exact: readonly string[]; readonly folded: readonly string[] } {
  const bytes = Buffer.from(secret);
  // Within base64 a text looks different at each of three offsets; its first and last characters belong to neighbours too.
  const base64 = [0, 1, 2].flatMap((offset) => {
    const encoded = Buffer.concat([Buffer.alloc(offset), bytes])
      .toString("base64")
      .replace(/=+$/, "");
    const inner = encoded.slice(offset === 0 ? 0 : offset + 1, (offset + bytes.length) % 3 === 0 ? undefined : -1);
    return [inner, inner.replaceAll("+", "-").replaceAll("/", "_")];
  });
  const folded = [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1), bytes.toString("hex")];
  return { exact: base64, folded: folded.map((spelling) => spelling.toLowerCase()) };
}
