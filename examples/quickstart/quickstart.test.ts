import { execFile } from "node:child_process";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";

vi.setConfig({ testTimeout: 30_000, hookTimeout: 30_000 });

interface Run {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  /** What is left in its folder for temporary files. */
  readonly leftovers: readonly string[];
}

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "keepsake-quickstart-test-"));
});

afterAll(async () => {
  await rm(folder, { recursive: true });
});

/** Runs the quickstart in the folder of this test, as a program whose output goes to a pipe. */
async function quickstart(...args: readonly string[]): Promise<Run> {
  const temporary = await mkdtemp(join(folder, "temporary-"));
  const script = join(import.meta.dirname, "main.ts");
  const env = { PATH: process.env.PATH, TMPDIR: temporary };
  const ended = await new Promise<Omit<Run, "leftovers">>((resolve) => {
    const child = execFile(process.execPath, [script, ...args], { cwd: folder, env }, (_error, stdout, stderr) =>
      resolve({ code: child.exitCode ?? -1, stdout, stderr }),
    );
  });
  return { ...ended, leftovers: await readdir(temporary) };
}

function expectPlain({ stdout, stderr, leftovers }: Run): void {
  const output = stdout + stderr;
  expect(output).not.toContain("\u001b");
  const columns = (row: string): number => row.replace(/\p{Emoji_Presentation}|\p{Script=Han}/gu, "  ").length;
  expect(output.split("\n").filter((row) => columns(row) > 80)).toEqual([]);
  expect(leftovers).toEqual([]);
}

/** The text in one row, as if it had not been wrapped. */
function unwrapped(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

describe("the tour", () => {
  let tour: Run;
  let parts: readonly string[];

  beforeAll(async () => {
    tour = await quickstart();
    parts = tour.stdout.split("\n\n").map(unwrapped);
  });

  it("ends well, is plain text for a pipe, and leaves nothing behind", () => {
    expect(tour).toMatchObject({ code: 0, stderr: "" });
    expectPlain(tour);
  });

  it("runs every conversation in a process of its own", () => {
    const processes = tour.stdout.match(/process \d+/g) ?? [];
    expect(processes).toHaveLength(5);
    expect(new Set(processes).size).toBe(5);
  });

  it("saves what Ann tells it", () => {
    expect(parts[1]).toContain('profile__save_memory -> {"saved":true,"duplicate":false,"index":0}');
    expect(parts[1]).toContain('profile__save_memory -> {"saved":true,"duplicate":false,"index":1}');
  });

  it("refuses the token", () => {
    expect(parts[2]).toContain("profile__save_memory -> refused: ");
    expect(parts[2]).toContain("I was not allowed to keep that.");
  });

  it("recalls the tea in a later process, and shows once what the model sees", () => {
    expect(parts[3]).toContain('recall <keepsake-memory slot="profile"> ');
    expect(parts[3]).toContain("0: Ann drinks oolong tea, never coffee. 1: Ann lives in Turku. </keepsake-memory>");
    expect(parts[3]).toContain("agent I remember: Ann drinks oolong tea, never coffee.");
    expect(tour.stdout.match(/^ {3}recall /gm)).toHaveLength(1);
  });

  it("tells Ben nothing", () => {
    expect(parts[4]).toContain("agent I have nothing about that.");
    expect(parts[4]).not.toContain("oolong");
  });

  it("forgets the tea when told to", () => {
    expect(parts[5]).toContain('profile__remove_memory -> {"removed":true,"index":0}');
    expect(parts[5]).toMatch(/Which tea do I like\? agent I have nothing about that\./);
  });

  it("shows what is stored: what is left, and neither the tea nor the token", () => {
    expect(parts[6]).toContain("1: Ann lives in Turku. <!-- keepsake-calls ");
    expect(parts[6]).toContain("The last line lets a repeated tool call act once.");
    expect(parts[6]).not.toContain("oolong");
    const [token = "no token"] = parts[2]?.match(/ghp_\w+/) ?? [];
    expect(parts[2]).toContain(token);
    expect(parts[6]).not.toContain(token);
  });

  it("says where the file was, and where an agent's own would be", () => {
    expect(parts[6]).toContain("temporary folder, which is deleted now");
    expect(parts[6]).toContain("~/.keepsake/file, or in $KEEPSAKE_HOME/file");
  });
});

describe.concurrent("a conversation", () => {
  const turn = (speaker: string, text: string) => ({ speaker, text });
  const conversation = {
    speakers: ["Ann", "Bea"],
    sessions: [
      { date: "May 8", turns: [turn("Ann", "I adopted a cat."), turn("Bea", "How lovely!")] },
      { date: "May 9", turns: [] },
      { date: "May 10", turns: [turn("Bea", "And?"), turn("Ann", "words ".repeat(500)), turn("Ann", "")] },
    ],
  };
  const other = { speakers: ["Cleo"], sessions: [] };

  /** Writes a file of conversations, one a line. */
  async function write(name: string, ...lines: readonly unknown[]): Promise<string> {
    const text = lines.map((line) => `${typeof line === "string" ? line : JSON.stringify(line)}\n`).join("");
    await writeFile(join(folder, name), name.endsWith(".gz") ? gzipSync(text) : text);
    return name;
  }

  it.each(["two.jsonl", "two.jsonl.gz"])("is replayed from %s, which holds another one too", async (name) => {
    const run = await quickstart("--conversation", await write(name, conversation, other));
    expect(run).toMatchObject({ code: 0, stderr: "" });
    expectPlain(run);
    const [played, next, bounds] = run.stdout.split("\n\n").map(unwrapped);
    expect(played).toBe(
      `Ann and the agent: 3 sessions playing conversation 1 of 2 in ${name} session May 8: 1 turn, one line kept ` +
        "session May 9: no turns session May 10: 2 turns, refused",
    );
    expect(next).toMatch(/^The next session, after 3 turns, starts with this: <keepsake-memory slot="diary"> /);
    expect(next).toContain("0: May 8: I adopted a cat. </keepsake-memory>");
    expect(bounds).toMatch(/^What the bounds did kept 1 of 2 lines, \d{3} characters in the prompt refused 1 x /);
  });

  it("without a turn leaves nothing to recall", async () => {
    const silent = { speakers: ["Ann"], sessions: [{ date: "May 9", turns: [] }] };
    const run = await quickstart("--conversation", await write("silent.jsonl", silent));
    expect(run).toMatchObject({ code: 0, stderr: "" });
    const output = unwrapped(run.stdout);
    expect(output).toContain("Ann and the agent: 1 session playing conversation 1 of 1 in silent.jsonl");
    expect(output).toContain("after 0 turns, starts with this: nothing");
    expect(output).toContain("kept 0 of 0 lines, 0 characters in the prompt");
  });

  it("is printed within 80 columns and without escape codes, whatever is in it", async () => {
    const name = "\u{1f408}".repeat(100);
    const date = `\u001b[31m${"\u6708".repeat(100)}`;
    const wide = { speakers: [name], sessions: [{ date, turns: [turn(name, "\u732b")] }] };
    const run = await quickstart("--conversation", await write("wide.jsonl", wide));
    expect(run).toMatchObject({ code: 0, stderr: "" });
    expectPlain(run);
    expect(run.stdout.match(/\u{1f408}/gu)).toHaveLength(100);
    expect(run.stdout.match(/\u6708/gu)?.length).toBeGreaterThanOrEqual(100);
  });

  it.each([
    ["broken.jsonl", '{"speakers":', "it is not JSON."],
    ["fields.jsonl", { speakers: ["Ann"], sessions: [{ date: "May 8" }] }, "sessions[0].turns must be a list."],
  ])("in a damaged file is refused, with its name and the reason: %s", async (name, line, reason) => {
    const run = await quickstart("--conversation", await write(name, line));
    expect(run).toMatchObject({ code: 1, stdout: "" });
    expect(unwrapped(run.stderr)).toBe(`The first line of ${name} is not a conversation: ${reason}`);
    expectPlain(run);
  });

  it("in a file that is not there is refused with the file's name", async () => {
    const missing = `${"long/".repeat(20)}file.jsonl`;
    const run = await quickstart("--conversation", missing);
    expect(run).toMatchObject({ code: 1, stdout: "" });
    expect(run.stderr.replaceAll("\n", "")).toBe(`There is no file${missing}.`);
    expectPlain(run);
  });
});

describe.concurrent("arguments", () => {
  it.each([[["--help"]], [["--", "--help"]]])("are explained by %j", async (args) => {
    const run = await quickstart(...args);
    expect(run).toMatchObject({ code: 0, stderr: "" });
    expect(run.stdout).toMatch(/^Usage: .* start \[--conversation FILE\]\n/);
    expectPlain(run);
  });

  it.each([
    ["an unknown flag", ["--index", "2"], "'--index'"],
    ["a missing value", ["--conversation"], "'--conversation <value>'"],
    ["an empty value", ["--conversation="], "'--conversation'"],
    ["a flag in place of a value", ["--conversation", "--help"], "'--conversation'"],
    ["an extra argument", ["notes.jsonl"], "'notes.jsonl'"],
  ])("with %s are refused by name", async (_what, args, named) => {
    const run = await quickstart(...args);
    expect(run).toMatchObject({ code: 1, stdout: "" });
    expect(run.stderr).toContain(named);
    expect(run.stderr).toMatch(/\nUsage: .*\n$/);
    expectPlain(run);
  });
});
