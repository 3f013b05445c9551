/** Judges whether a value could be a real secret, or is a placeholder, a word or a piece of code that stands in its place. */

/**
 * What people write where a secret would stand. It is taken out of a value before the rest is judged, so that a
 * placeholder word beside a real secret does not hide it.
 */
const placeholder = anyOf(
  [
    /\$\{[^{}]{0,80}\}|\{{1,2}[A-Za-z _.$-]{0,80}\}{1,2}|\$\([^()]{0,80}\)|<[A-Za-z _.-]{0,80}>|\[[A-Za-z _.-]{0,80}\]/,
    /%\w{1,40}%|%[sdv]\b|^\$[A-Za-z_]\w*$/,
    /x{4,}|\*{3,}|\.{3,}|…|#{4,}/,
    /(?<![a-z])(?:your?|my|example|sample|placeholder|change[-_]?(?:me|this|it)|redacted|insert|replace(?:[-_]?(?:with|me))?|dummy|fake|goes[-_]?here|here)(?![a-z])/,
    /EXAMPLE(?:KEY)?$/,
  ],
  "gi",
);

/** Names of algorithms and formats carry digits and are not secrets: `password: argon2id`. */
const technicalTerm =
  /(?:argon2(?:id?|d)?|pbkdf2|sha-?\d{1,3}|md5|(?:aes|hs|rs|es|ps)-?\d{3}|base(?:32|58|64)|ed25519|x25519|x\.?509|oauth2?|utf-?8)(?![a-z0-9])/gi;

const word = /^(?:[A-Z]?[a-z]{1,24}|[A-Z]{1,24}|\d{1,4}(?:st|nd|rd|th)?)$/;
const numberedWord = /^(?:[A-Za-z]{2,24}\d{0,2}|\d+(?:st|nd|rd|th)?)$/;

/** Whether a value is made of words in any case convention: `riskBased-approach_2024`. */
function isMadeOf(part: RegExp, value: string): boolean {
  const parts = value.split(/[^A-Za-z0-9]+|(?<=[a-z])(?=[A-Z])/).filter((each) => each !== "");
  // Random letters fall apart at every change of case, into pieces too short to be words.
  return parts.every((each) => part.test(each)) && value.length / parts.length >= 3.5;
}

/** What is left of a value when everything that only stands in for a secret is gone. */
export function withoutPlaceholders(value: string): string {
  return value.replace(placeholder, "");
}

function distinctCharacters(value: string): number {
  return new Set(value).size;
}

/** Whether the part of a token after its vendor's prefix is a real one. */
export function isTokenBody(body: string): boolean {
  const rest = withoutPlaceholders(body);
  return distinctCharacters(rest) >= 4 && !isMadeOf(numberedWord, rest);
}

const code = anyOf(
  [
    /^(?:process\.env|import\.meta|os\.environ|deno\.env|bun\.env)/,
    /^!?[a-z_$]+\d{0,2}(?:(?:[?!]?\.|::|->)[a-z_$]+\d{0,2})*(?:[?!]?[([]|[,)}|]|[!=]==?|\?[?.:]|&&)/,
    /^[a-z_$]+\d{0,2}(?:[?!]?\.[a-z_$]+\d{0,2})+$/,
  ],
  "i",
);

/** Whether a value without quotes is an expression: a call, a property, a variable in a list. */
export function isCode(value: string): boolean {
  return code.test(value);
}

/** What a name holds when it does not hold the secret itself. */
const reference = anyOf(
  [
    /^(?:process\.env|import\.meta|os\.environ)\b/,
    /^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+=?$/, // a variable of the environment
    /^[\w.$-]*(?:[Pp]ass(?:[Ww](?:or)?d)?|[Tt]oken|[Ss]ecret|[Kk]ey|[Cc]redentials?)(?:[_-]?[vV]?\d{1,3})?=?$/, // another name
    /^(?:\.{1,2}\/|~\/|\/[a-z]+[/.]|\/[A-Za-z]+\/|[A-Za-z]:\\|[a-z][a-z0-9+.-]{1,20}:\/\/)/, // a path or an address
    /^(?:AAAA[A-Z]3Nz|pk_(?:live|test)_|age1)/, // a public key
    /\.(?:pem|key|cer|crt|p12|pfx|json|ya?ml|toml|env|txt|md|[jt]sx?|py|sh|cs|go|rs|html?)$/,
    /^v?\d+(?:[.:/-]\d+)+(?:T[\d:.Z+-]*)?$/, // a version, a date, an address of a machine
  ],
  "",
);

/** Whether a value given to something called a key, token or secret is one. */
export function isCredential(value: string): boolean {
  if (value.length < 8 || !/\d/.test(value) || reference.test(value)) return false;
  const rest = withoutPlaceholders(value).replace(technicalTerm, "");
  const digits = rest.replace(/\D/g, "").length;
  if (rest.length < 8 || distinctCharacters(rest) < 6 || isMadeOf(numberedWord, rest) || !/[A-Za-z]/.test(rest))
    return false;
  return digits >= 2 || (digits === 1 && rest.length >= 16);
}

/** Whether a value given to something that is only called a key is a secret: many keys are names. */
export function isLongKey(value: string): boolean {
  return isCredential(value) && /[A-Za-z0-9]{16}|^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i.test(value);
}

/** Whether a value given to something called a password is one. People choose them, so less is asked of them. */
export function isPassword(value: string): boolean {
  if (value.length < 8 || reference.test(value)) return false;
  const rest = withoutPlaceholders(value).replace(technicalTerm, "");
  if (rest.length < 8 || distinctCharacters(rest) < 5) return false;
  const hasDigit = /\d/.test(rest);
  const hasBothCases = /[a-z]/.test(rest) && /[A-Z]/.test(rest);
  const hasSymbol = /[!@#$%^&*?+=~]/.test(rest);
  if (!isMadeOf(word, rest)) return hasDigit || (hasBothCases && hasSymbol);
  // Words alone are a description; several with a number and capitals, or with a symbol, are a pass phrase.
  return hasDigit && (hasSymbol || (hasBothCases && rest.split(/[^A-Za-z0-9]/).length >= 3));
}

function anyOf(patterns: readonly RegExp[], flags: string): RegExp {
  return new RegExp(patterns.map((pattern) => pattern.source).join("|"), flags);
}
