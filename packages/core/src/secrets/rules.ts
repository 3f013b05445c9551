/**
 * The built-in rules: private keys, the token formats of well-known vendors, credentials given to a name, in an address
 * or in a header. Each expression reads a text once: repetitions that meet are bounded or have no character in common.
 */
import type { SecretRule } from "./rule.ts";
import { isCode, isCredential, isLongKey, isPassword, isTokenBody, withoutPlaceholders } from "./value.ts";

type Span = { readonly start: number; readonly end: number };

/** Where a token may begin: after nothing that continues a word, or after an escape that ends in a letter or digit. */
const edge = String.raw`(?:(?<![A-Za-z0-9])|(?<=\\[nrt]|%[0-9A-Fa-f]{2}))`;

function startingAtEdge(expression: RegExp): RegExp {
  return new RegExp(edge + expression.source, "g");
}

/** Every match of an expression; its group `value`, or all of it, must pass the judgement. */
function pattern(
  id: string,
  kind: string,
  expression: RegExp,
  isSecret: (value: string) => boolean = () => true,
): SecretRule {
  const find = function* (text: string): Generator<Span> {
    for (const match of text.matchAll(expression)) {
      if (isSecret(match.groups?.value ?? match[0])) yield { start: match.index, end: match.index + match[0].length };
    }
  };
  return Object.freeze({ id, kind, find });
}

/** A vendor's token: one of the literal prefixes, then the body. */
function token(id: string, prefixes: readonly string[], body: RegExp): SecretRule {
  const literal = prefixes.map((prefix) => prefix.replaceAll(".", "\\.")).join("|");
  const rule = pattern(
    id,
    "access token",
    startingAtEdge(new RegExp(`(?:${literal})(?<value>${body.source})`)),
    isTokenBody,
  );
  // Looking for the literal is many times faster than the expression, and most texts hold none.
  const find = (text: string): Iterable<Span> =>
    prefixes.some((prefix) => text.includes(prefix)) ? rule.find(text) : [];
  return Object.freeze({ ...rule, find });
}

const privateKeys: readonly SecretRule[] = [
  pattern(
    "private-key-block",
    "private key",
    // The body may be cut off at the end, and its line breaks may be spaces or a written `\n`.
    /-{4,5} ?BEGIN (?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)? ?-{4,5}(?<value>(?:[\w+/=\s\\:,.()"'>|%]|-(?!-)){0,20000})(?:-{4,5} ?END[A-Z0-9 ]{0,60}-{4,5})?/g,
    (body) => (body.match(/[A-Za-z0-9+/]{16,}/g) ?? []).some((run) => /\d/.test(run) && /[A-Za-z]/.test(run)),
  ),
  pattern("putty-private-key", "private key", /Private-Lines: {0,2}\d{1,3}(?=\s|\\[nr])[A-Za-z0-9+/=\s\\]{16,}/g),
  pattern("age-secret-key", "private key", startingAtEdge(/AGE-SECRET-KEY-1(?:[0-9A-Z]{40,}|[0-9a-z]{40,})/)),
];

const vendorTokens: readonly SecretRule[] = [
  token("anthropic-api-key", ["sk-ant-"], /[\w-]{20,}/),
  token("openai-api-key", ["sk-proj-", "sk-svcacct-", "sk-admin-"], /[\w-]{20,}/),
  // Many model services follow the same habit. Dots too: `sk-`, a plan, a dot and the rest.
  token("sk-api-key", ["sk-"], /(?=[A-Za-z._-]{0,40}\d)[\w.-]{15,}\w/),
  token("groq-api-key", ["gsk_"], /[A-Za-z0-9]{32,}/),
  token("xai-api-key", ["xai-"], /[A-Za-z0-9]{40,}/),
  token("perplexity-api-key", ["pplx-"], /[A-Za-z0-9]{32,}/),
  token("replicate-api-token", ["r8_"], /[A-Za-z0-9]{37,}/),
  token("hugging-face-token", ["hf_", "api_org_"], /[A-Za-z0-9]{30,}/),
  token("tavily-api-key", ["tvly-"], /[\w-]{20,}/),
  token("langsmith-api-key", ["lsv2_pt_", "lsv2_sk_"], /[0-9a-f_]{32,}/),
  token("aws-access-key-id", ["AKIA", "ASIA", "ABIA", "ACCA"], /[A-Z2-7]{16}(?![A-Za-z0-9])/),
  token("google-api-key", ["AIza"], /[\w-]{35}(?![\w-])/),
  token("google-oauth-secret", ["GOCSPX-", "ya29."], /[\w-]{24,}/),
  token("azure-shared-key", ["AccountKey=", "SharedAccessKey="], /[A-Za-z0-9+/]{40,}={0,2}/),
  token("github-token", ["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"], /[A-Za-z0-9_]{36,}/),
  token(
    "gitlab-token",
    [
      "glpat-",
      "gldt-",
      "glrt-",
      "glrtr-",
      "glcbt-",
      "glptt-",
      "glft-",
      "glimt-",
      "glagent-",
      "gloas-",
      "glsoat-",
      "glffct-",
      "GR1348941",
    ],
    /[\w.-]{19,}\w/,
  ),
  token("bitbucket-token", ["ATBB", "ATATT3xFfGF0", "ATCTT3xFfGN0"], /[\w=-]{24,}/),
  token(
    "slack-token",
    ["xoxa-", "xoxb-", "xoxe-", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xoxe.xoxb-", "xoxe.xoxp-", "xapp-"],
    /(?=[A-Za-z-]{0,6}\d)[\w-]{12,}/,
  ),
  token("slack-webhook", ["hooks.slack.com/"], /(?:services|workflows|triggers)\/[\w/-]{20,}/),
  token("stripe-key", ["sk_live_", "rk_live_", "sk_test_", "rk_test_", "sk_prod_", "rk_prod_"], /[A-Za-z0-9]{10,}/),
  token("webhook-secret", ["whsec_"], /[A-Za-z0-9+/=]{24,}/),
  token("square-token", ["sq0atp-", "sq0csp-", "EAAAE", "EAAAl"], /[\w-]{22,}/),
  token("shopify-token", ["shpat_", "shpca_", "shppa_", "shpss_"], /[0-9a-fA-F]{32}/),
  token("facebook-token", ["EAACEdEose0cBA", "EAAM"], /[A-Za-z0-9]{60,}/),
  token("npm-token", ["npm_"], /[A-Za-z0-9]{36}/),
  token("pypi-token", ["pypi-AgE"], /[\w-]{50,}/),
  token("docker-token", ["dckr_pat_", "dckr_oat_"], /[\w-]{24,}/),
  token("sendgrid-api-key", ["SG."], /[\w-]{16,32}\.[\w-]{16,}/),
  token("twilio-api-key", ["SK"], /[0-9a-f]{32}(?![A-Za-z0-9])/),
  token("mailgun-api-key", ["key-"], /[0-9a-f]{32}(?![A-Za-z0-9])/),
  token("brevo-api-key", ["xkeysib-", "xsmtpsib-"], /[0-9a-f]{64}[\w-]*/),
  token("digitalocean-token", ["dop_v1_", "doo_v1_", "dor_v1_"], /[0-9a-f]{64}/),
  token("vercel-token", ["vcp_", "vci_", "vca_", "vcr_", "vck_"], /[A-Za-z0-9]{24,}/),
  token("supabase-key", ["sbp_", "sb_secret_"], /[\w-]{20,}/),
  token("planetscale-token", ["pscale_tkn_", "pscale_pw_", "pscale_oauth_"], /[\w.=-]{32,}/),
  token("vault-token", ["hvs.", "hvb.", "hvr."], /[\w-]{24,}/),
  token("databricks-token", ["dapi"], /[0-9a-fA-F]{32}(?:-\d)?/),
  token("grafana-token", ["glsa_", "glc_"], /[\w+/=]{32,}/),
  token("sentry-token", ["sntrys_", "sntryu_"], /[\w+/=]{40,}/),
  token("linear-api-key", ["lin_api_", "lin_oauth_"], /[A-Za-z0-9]{32,}/),
  token("notion-token", ["ntn_", "secret_"], /[A-Za-z0-9]{40,}/),
  token("figma-token", ["figd_"], /[\w-]{32,}/),
  token("postman-api-key", ["PMAK-"], /[0-9a-f]{24}-[0-9a-f]{34}/),
  token("new-relic-key", ["NRAK-", "NRII-", "NRIQ-"], /[A-Za-z0-9_-]{20,}/),
  token("onepassword-token", ["ops_eyJ"], /[\w+/=-]{50,}/),
  token("heroku-api-key", ["HRKU-"], /[\w-]{36,}/),
  token("sonar-token", ["sqp_", "squ_", "sqa_"], /[0-9a-f]{40}/),
  token("doppler-token", ["dp.pt.", "dp.st.", "dp.ct.", "dp.sa."], /[\w.-]{40,}/),
  token("rubygems-api-key", ["rubygems_"], /[0-9a-f]{48}/),
  token("adafruit-io-key", ["aio_"], /[A-Za-z0-9]{28}/),
  pattern("azure-client-secret", "access token", startingAtEdge(/[\w.~-]{3}\dQ~[\w.~-]{31,34}/), isTokenBody),
  pattern(
    "azure-devops-token",
    "access token",
    startingAtEdge(/[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}(?![A-Za-z0-9])/),
    isTokenBody,
  ),
  pattern("telegram-bot-token", "access token", /(?<!\d)\d{8,10}:AA[\w-]{32,33}(?![\w-])/g, isTokenBody),
  pattern("discord-bot-token", "access token", startingAtEdge(/[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,}/), isTokenBody),
  pattern(
    "json-web-token",
    "access token",
    /(?:(?<![\w-])|(?<=\\[nrt]|%[0-9A-Fa-f]{2}))eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}/g,
    isTokenBody,
  ),
];

const passwordName =
  "pass(?:word|wd|phrase|code)|(?<![A-Za-z]|(?:boarding|season|ski|bus|train|rail|day|hall) )pass|(?<=auth)pass|pwd";
const credentialName =
  "(?:(?:api|access|secret(?:[ _-]?access)?|private|auth|account|master|signing|encryption|service|subscription|app|client|license)[ _-]?key" +
  "|secret|token|credentials?|connection[ _-]?string|(?<=[_-])pat)";
const keyName =
  "(?<=[A-Za-z0-9][_-]?)(?<!(?:public|pub|primary|foreign|cache|idempotency|partition|sort|bucket|object|storage|row|group|query|lookup)[ _-]?)key";

/** From a name to its value: what closes the name, a type, and the sign of assignment. */
const assignment = [
  String.raw`[\\"'\`\])]{0,4}(?: {0,2}:? {0,2}(?:string|str|String))?[ \t]{0,8}[:.?+|!]{0,3}={1,3}>?[ \t]{0,8}`,
  String.raw`[\\"'\`\])*]{0,4}[ \t]{0,8}:\*{0,2}\s{0,12}`,
  String.raw`>\s{0,12}`,
  String.raw`["'],\s{0,12}(?:["']value["']\s{0,2}:\s{0,2})?(?=["'])`,
  String.raw`(?<=--[\w-]{1,40})[ \t]{1,4}`,
  String.raw`(?:\s(?:for|of|on|to|at)\s[\w .'-]{1,40}?)?\sis:?\s{1,4}`,
].join("|");

const quotedValue = /\\{0,2}(["'`])((?:(?!\1)[^\n\\]|\\(?!\1)[^\n]){1,128})/y;
const bareValue = /(?:[^\s"'`<>;&\\]|&(?!\w{1,30}=)|\\(?![nrt"'])){1,128}/y;
const restOfValue = /[^\s"'`<>]*/y;

/** A secret given to a name, in code, settings, markup or a sentence. */
function assigned(id: string, kind: string, name: string, isSecret: (value: string) => boolean): SecretRule {
  const expression = new RegExp(`(?:${name})\\d{0,3}(?:${assignment})`, "gi");
  const find = function* (text: string): Generator<Span> {
    let covered = 0;
    for (const match of text.matchAll(expression)) {
      // A name inside a value that is already found would have the rest of that value read again.
      if (match.index < covered) continue;
      const end = endOfValue(text, match.index + match[0].length, isSecret);
      if (end === undefined) continue;
      yield { start: Math.max(covered, startOfName(text, match.index)), end };
      covered = end;
    }
  };
  return Object.freeze({ id, kind, find });
}

/** Only the first 128 characters are judged, so that names in a row do not read the same value over and over. */
function endOfValue(text: string, start: number, isSecret: (value: string) => boolean): number | undefined {
  const quoted = matchAt(quotedValue, text, start);
  const value = quoted?.[2] ?? matchAt(bareValue, text, start)?.[0];
  if (value === undefined || (quoted === null && isCode(value))) return undefined;
  // Without quotes, the marks that end a sentence or close a bracket are not the value's.
  const words = quoted === null ? [value.replace(/[.,;:!?)\]}]+$/, "")] : value.split(/\s+/);
  if (!words.some(isSecret)) return undefined;
  const end = start + (quoted?.[0] ?? value).length;
  return value.length < 128 ? end : end + (matchAt(restOfValue, text, end)?.[0].length ?? 0);
}

function startOfName(text: string, start: number): number {
  let first = start;
  while (first > 0 && start - first < 64 && /[\w-]/.test(text.charAt(first - 1))) first--;
  return first;
}

function matchAt(expression: RegExp, text: string, index: number): RegExpExecArray | null {
  expression.lastIndex = index;
  return expression.exec(text);
}

const credentials: readonly SecretRule[] = [
  assigned("assigned-password", "password", passwordName, isPassword),
  assigned("assigned-credential", "credential", credentialName, isCredential),
  assigned("assigned-key", "key", keyName, isLongKey),
  pattern(
    "url-credentials",
    "password",
    /[a-z][a-z0-9+.-]{1,30}:\/\/(?<value>[^\s:@/"'`<>]{0,64}:[^\s/"'`<>]{4,200})@(?=[\w[])/gi,
    (value) => {
      const [user, ...rest] = value.split(":");
      const password = withoutPlaceholders(rest.join(":"));
      return (
        password !== user &&
        new Set(password).size >= 4 &&
        !/^[_-]?(?:[a-z]+[_-])*(?:pass(?:word|wd)?|pwd|secret|token|key)$/i.test(password)
      );
    },
  ),
  pattern(
    "authorization-header",
    "credential",
    /(?:authorization[\\"']{0,3}\s{0,4}[:=]\s{0,4}[\\"']{0,3}(?:basic|token|apikey|bearer)|(?<![a-z])bearer)\s{1,4}(?<value>[\w.~+/=-]{12,})/gi,
    isCredential,
  ),
];

/** All built-in rules. */
export const secretRules: readonly SecretRule[] = Object.freeze([...privateKeys, ...vendorTokens, ...credentials]);
