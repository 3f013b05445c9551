/** Made-up secrets of kinds that any good detector knows, put together at run time so that no scanner takes this file for a leak. */

export interface SecretSample {
  readonly kind: string;
  readonly text: string;
  /** The part of it that must be found nowhere. */
  readonly core: string;
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/** Characters without a word among them, always the same for the same start. */
function body(length: number, start: number, alphabet: string = letters): string {
  const place = (index: number): number => (start + index * 37 + ((index * index) % 11) * 5) % alphabet.length;
  return Array.from({ length }, (_, index) => alphabet[place(index)]).join("");
}

function sample(kind: string, before: string, core: string, after = ""): SecretSample {
  return { kind, text: `${before}${core}${after}`, core };
}

const pemLines = [body(64, 3), body(64, 19), body(64, 31)];
const pem = (edge: string): string => `-----${edge} ${["RSA", "PRIVATE", "KEY"].join(" ")}-----`;

export const secretSamples: readonly SecretSample[] = [
  sample("a GitHub token", ["gh", "p_"].join(""), body(36, 5)),
  sample("an AWS access key id", ["AK", "IA"].join(""), body(16, 2, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")),
  sample(
    "a Slack token",
    `${["xo", "xb"].join("")}-${body(12, 1, "1234567890")}-${body(12, 4, "1234567890")}-`,
    body(24, 9),
  ),
  sample("an Anthropic API key", `${["sk", "ant", "api03"].join("-")}-`, body(93, 11), "AA"),
  sample("a password in a URL", "postgres://app:", body(18, 23), "@db.internal-net.net:5432/orders"),
  {
    kind: "a private key",
    text: [pem("BEGIN"), ...pemLines, pem("END")].join("\n"),
    core: pemLines[1] ?? "",
  },
];

/** Tokens of one service, another for each number. */
export function someSecret(number: number): SecretSample {
  return sample("a GitHub token", ["gh", "p_"].join(""), body(36, 41 + number));
}

/** What looks like a secret to a careless detector. */
export const harmlessTexts: Readonly<Record<string, string>> = {
  "a git commit": body(40, 7, "0123456789abcdef"),
  "a UUID": `${body(8, 3, "0123456789abcdef")}-${body(4, 5, "0123456789abcdef")}-4${body(3, 2, "0123456789abcdef")}-a${body(3, 6, "0123456789abcdef")}-${body(12, 9, "0123456789abcdef")}`,
  "a long name with dashes": "risk-based-authentication-strategy-for-2024",
  "a long address": "https://docs.widget-works.net/guides/setup/install?page=2&sort=updated#step-three-of-nine",
  "an order number": `ORD-2024-${body(8, 4, "0123456789")}`,
};
