import { describe, expect, it } from "vitest";
import { inspect } from "./index.ts";
import { secretRules } from "./rules.ts";

/** A body of the given length without a word in it, always the same. Joined to a prefix here, never written out as a token. */
function body(length: number, alphabet = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"): string {
  return Array.from({ length }, (_, index) =>
    alphabet.charAt((index * 37 + ((index * index) % 11) + 7) % alphabet.length),
  ).join("");
}
const hex = (length: number): string => body(length, "0123456789abcdef");
const upper = (length: number): string => body(length, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567");
const base64Lines = `${body(64)}\n${body(64)}\n${body(40)}`;
const armour = (label: string, key = base64Lines): string => `-----BEGIN ${label}-----\n${key}\n-----END ${label}-----`;

const samples: Readonly<Record<string, readonly string[]>> = {
  "private-key-block": [
    armour("PRIVATE KEY"),
    armour("RSA PRIVATE KEY"),
    armour("EC PRIVATE KEY"),
    armour("DSA PRIVATE KEY"),
    armour("OPENSSH PRIVATE KEY"),
    armour("ENCRYPTED PRIVATE KEY"),
    armour("PGP PRIVATE KEY BLOCK", `Version: 1\n\n${base64Lines}`),
    armour("RSA PRIVATE KEY", `Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,${hex(32)}\n\n${base64Lines}`),
    armour("PRIVATE KEY").slice(0, 90),
    armour("PRIVATE KEY").replaceAll("\n", " "),
    armour("PRIVATE KEY").replaceAll("\n", "\\n"),
  ],
  "putty-private-key": [
    `PuTTY-User-Key-File-3: ssh-ed25519\nPrivate-Lines: 2\n${body(64)}\n${body(20)}\nPrivate-MAC: ${hex(64)}`,
  ],
  "age-secret-key": [`AGE-SECRET-KEY-1${body(58, "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L")}`],
  "anthropic-api-key": [`sk-ant-api03-${body(93)}`],
  "openai-api-key": [`sk-proj-${body(48)}`, `sk-svcacct-${body(48)}`],
  "sk-api-key": [`sk-${body(48)}`, `sk-sp-A.b${body(6)}.Q7${body(12)}`, `sk-or-v1-${hex(64)}`],
  "groq-api-key": [`gsk_${body(52)}`],
  "xai-api-key": [`xai-${body(80)}`],
  "perplexity-api-key": [`pplx-${body(48)}`],
  "replicate-api-token": [`r8_${body(37)}`],
  "hugging-face-token": [`hf_${body(34)}`],
  "tavily-api-key": [`tvly-${body(32)}`],
  "langsmith-api-key": [`lsv2_pt_${hex(32)}_${hex(10)}`],
  "aws-access-key-id": [`AKIA${upper(16)}`, `ASIA${upper(16)}`],
  "google-api-key": [`AIza${body(35)}`],
  "google-oauth-secret": [`GOCSPX-${body(28)}`],
  "azure-client-secret": [`aB38Q~${body(34)}`],
  "azure-shared-key": [`AccountName=x;AccountKey=${body(86)}==`],
  "azure-devops-token": [`${body(76)}AZDO${body(4)}`],
  "github-token": ["ghp_", "gho_", "ghu_", "ghs_", "ghr_"]
    .map((prefix) => prefix + body(36))
    .concat(`github_pat_${body(22)}_${body(59)}`),
  "gitlab-token": [`glpat-${body(20)}`, `glpat-${body(27)}.01.${body(9)}`],
  "bitbucket-token": [`ATBB${body(32)}`],
  "slack-token": [
    `xoxb-${hex(11)}-${hex(12)}-${body(24)}`,
    `xoxe.xoxp-1-${body(60)}`,
    `xapp-1-A0${upper(9)}-${hex(13)}-${hex(64)}`,
  ],
  "slack-webhook": [`https://hooks.slack.com/services/T${upper(8)}/B${upper(8)}/${body(24)}`],
  "stripe-key": ["sk_live_", "rk_live_", "sk_test_"].map((prefix) => prefix + body(24)),
  "webhook-secret": [`whsec_${body(32)}`],
  "square-token": [`sq0atp-${body(22)}`, `sq0csp-${body(43)}`, `EAAAE${body(59)}`],
  "shopify-token": [`shpat_${hex(32)}`],
  "facebook-token": [`EAACEdEose0cBA${body(120)}`],
  "npm-token": [`npm_${body(36)}`],
  "pypi-token": [`pypi-AgE${body(150)}`],
  "docker-token": [`dckr_pat_${body(27)}`],
  "sendgrid-api-key": [`SG.${body(22)}.${body(43)}`],
  "twilio-api-key": [`SK${hex(32)}`],
  "mailgun-api-key": [`key-${hex(32)}`],
  "brevo-api-key": [`xkeysib-${hex(64)}-${body(16)}`],
  "digitalocean-token": [`dop_v1_${hex(64)}`],
  "vercel-token": [`vcp_${body(56)}`],
  "supabase-key": [`sbp_${hex(40)}`, `sb_secret_${body(31)}`],
  "planetscale-token": [`pscale_tkn_${body(43)}`],
  "vault-token": [`hvs.${body(90)}`],
  "databricks-token": [`dapi${hex(32)}`, `dapi${hex(32)}-2`],
  "grafana-token": [`glsa_${body(32)}_${hex(8)}`],
  "sentry-token": [`sntryu_${hex(64)}`],
  "linear-api-key": [`lin_api_${body(40)}`],
  "notion-token": [`ntn_${body(46)}`, `secret_${body(43)}`],
  "figma-token": [`figd_${body(40)}`],
  "postman-api-key": [`PMAK-${hex(24)}-${hex(34)}`],
  "new-relic-key": [`NRAK-${upper(27)}`],
  "onepassword-token": [`ops_eyJ${body(200)}`],
  "heroku-api-key": [`HRKU-${body(60)}`],
  "sonar-token": [`squ_${hex(40)}`],
  "doppler-token": [`dp.pt.${body(43)}`],
  "rubygems-api-key": [`rubygems_${hex(48)}`],
  "adafruit-io-key": [`aio_${body(28)}`],
  "telegram-bot-token": [`123456789:AA${body(33)}`],
  "discord-bot-token": [`M${body(23)}.${body(6)}.${body(38)}`],
  "json-web-token": [`eyJ${body(30)}.eyJ${body(60)}.${body(43)}`],
  "assigned-password": [
    "password: hunter2!x9",
    "my password is Tr0ub4dor&3",
    "the wifi pass is Lk4-mm-Tz90",
    "**Password:** hunter2!x9",
    "passwd := 'hunter2!x9'",
    '{"password":"hunter2!x9"}',
    '{\\"password\\": \\"hunter2!x9\\"}',
    "db_pwd => `hunter2!x9`",
    "const password: string = 'Sum(mer)2024!';",
    "my passphrase is copper-Harbour-31-violin",
    "login --password hunter2!x9",
    "password: password: hunter2!x9",
    "password: changeme hunter2 password: hunter2!x9",
  ],
  "assigned-credential": [
    "API_KEY=9f8e7d6c5b4a39281706",
    "api-key: 9f8e7d6c5b4a39281706",
    "apikey = '9f8e7d6c5b4a39281706'",
    "the access token for the sandbox is 9f8e7d6c5b4a39281706.",
    "client_secret := 9f8e7d6c5b4a39281706",
    '"privateKey": "9f8e7d6c5b4a39281706"',
    "auth_token=9f8e7d6c5b4a39281706&page=2",
    "<apiToken>\n  9f8e7d6c5b4a39281706\n</apiToken>",
    'setProperty("API_TOKEN", "9f8e7d6c5b4a39281706")',
    '{"name": "API_KEY", "value": "9f8e7d6c5b4a39281706"}',
    "connection string: Server=db;Secret=9f8e7d6c5b4a39281706",
    "API_KEY=your-9f8e7d6c5b4a39281706",
  ],
  "assigned-key": [`maps_key = ${body(32)}`, `weatherKey: '${hex(32)}'`],
  "url-credentials": [
    "postgres://app:s3cr3tpw@db.example.net:5432/app",
    "redis://:s3cr3tpw@cache.example.net",
    "https://bob:p@ssw0rd9@example.net",
  ],
  "authorization-header": [
    `Authorization: Bearer ${body(30)}`,
    "authorization: Basic Ym9iOmh1bnRlcjIheDk=",
    `curl -H 'X: bearer ${body(30)}'`,
  ],
};

const innocent: readonly string[] = [
  "The secret is patience.",
  "password: required",
  "token: string",
  "my password is hard to remember",
  "The password is at least 12 characters long.",
  "password: argon2id",
  "boarding pass: AB12345678",
  `the build broke at ${hex(40)}`,
  `order ${hex(8)}-${hex(4)}-4${hex(3)}-a${hex(3)}-${hex(12)} was sent back`,
  "risk-based-authentication-approach-for-2024-and-later",
  "task-list-for-monday",
  "disk-usage-report-2024-final",
  "the prefix sk- alone, sk-learning and sk-2024-quarterly-report",
  "https://example.com/a/b?page=2&sort=key#token",
  "https://example.com:8080/path@home",
  "mail bob.smith+news@example.com or call +44 20 7946 0958",
  "# Title\n\n- **Key points:** be early\n- `npm_config_registry` is set",
  "let token = await nextToken(); const secret = settings.secrets.primary1;",
  "if (password === user.password2) token = tokens[1024];",
  "type Login = { password: string; accessToken?: string; retries: number };",
  "api_key: os.environ['API_KEY_2024'], secret: process.env.SECRET_V2",
  `data:image/png;base64,iVBORw0KGgo${body(400)}`,
  "public key: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ0Z",
  `cache_key: ${hex(40)}`,
  "A PEM file begins with -----BEGIN PRIVATE KEY----- and then the key.",
  "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
  armour("PUBLIC KEY"),
  "password: xxxxxxxxxxxx",
  "password=************",
  "token: <token>",
  `API_KEY=\${API_KEY_2024}`,
  "API_KEY=YOUR_API_KEY_1234",
  "password: changeme",
  "APP_SECRET=change-this-before-2026",
  "secret: process.env.X",
  "API_KEY=\nOTHER_NAME=1",
  `they all start with ghp_${"x".repeat(36)}`,
  `glpat-${"X".repeat(20)}`,
  "billing: sk_test_your_own_key",
  ["AKIA", "IOSFODNN7EXAMPLE"].join(""),
  "xoxb-1-token-of-your-bot",
  `postgres://user:\${PASSWORD}@db/app and https://user:password@example.com`,
  "postgres://admin:admin@localhost/app",
  "Authorization: Bearer <token>",
  "the bearer international-organisation",
];

describe("secretRules", () => {
  it("have ids of their own, and a sample each in this test", () => {
    const ids = secretRules.map((rule) => rule.id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(Object.keys(samples).sort()).toEqual([...ids].sort());
  });

  const positives = Object.entries(samples).flatMap(([id, texts]) => texts.map((text) => ({ id, text })));

  it.each(positives)("$id finds $text", ({ id, text }) => {
    const rule = secretRules.find((each) => each.id === id);
    expect([...(rule?.find(text) ?? [])]).toHaveLength(1);
  });

  it.each(positives.filter(({ id }) => !id.startsWith("assigned-")))(
    "$id is found in whatever surrounds $text",
    ({ text }) => {
      for (const [before, after] of [
        ["'", "'"],
        ["`", "`"],
        ["(", ")"],
        ["[", "],"],
        ["see ", "."],
        ["\\n", "\\n"],
        ["x=", ";"],
        ["\u4EE4\u724C", "\u3002"],
      ]) {
        expect(inspect(`${before}${text}${after}`).length).toBeGreaterThan(0);
      }
    },
  );

  it.each(innocent)("leave %j alone", (text) => {
    expect(inspect(text)).toEqual([]);
  });

  it("cover a key to its last line", () => {
    expect(inspect(`${armour("RSA PRIVATE KEY")}\n\nThanks!`)).toMatchObject([
      { start: 0, end: armour("RSA PRIVATE KEY").length },
    ]);
  });

  it("cover a value longer than the part that is judged", () => {
    const text = `API_KEY="${body(5000)}" ok`;
    expect(inspect(text)).toMatchObject([{ start: 0, end: text.length - 4 }]);
  });

  it.each([
    "a",
    "A1",
    "-",
    ".",
    "password=",
    "apikey1=",
    "password=Ab1",
    "password='Ab1+'",
    "token for a ",
    "password is ",
    "-----BEGIN ",
    "-----BEGIN PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY----- a",
    "Private-Lines: 1 ",
    "eyJ",
    "eyJ-",
    "eyJaaaaaaaa.",
    "://",
    "a://b:",
    "a://b:cccc@",
    "sk-1a",
    "SG.aaaaaaaaaaaaaaaaaaa.",
    "xoxe.xoxb-",
    "123456789:AA",
    "bearer ",
    "token='\\",
    "{{",
    "[",
    "\u200B",
    "a\u200B",
  ])(
    "read 256 KiB of %j in one go",
    (piece) => {
      // Time that grew with the square of the length would be minutes here, and the test would run out of it.
      expect(inspect(piece.repeat(Math.ceil(262_144 / piece.length)))).toBeInstanceOf(Array);
    },
    20_000,
  );

  it.each([
    ["assigned-password", "password=Ab1"],
    ["assigned-credential", "api_key=Ab1c9"],
    ["sk-api-key", "sk-1aB9"],
  ])("%s reads a value made of its own beginnings once", (id, piece) => {
    const rule = secretRules.find((each) => each.id === id);
    expect([...(rule?.find(`${piece.repeat(16)}x`) ?? [])]).toHaveLength(1);
  });
});
