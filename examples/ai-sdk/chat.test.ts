import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { type Ended, Program, type ProgramOptions } from "./test-program.ts";

vi.setConfig({ testTimeout: 60_000 });

let home: string;
let programs: Program[];
let compiled: string; // what Node compiles once for all these processes

beforeAll(async () => {
  compiled = await mkdtemp(join(tmpdir(), "keepsake-ai-sdk-compiled-"));
});

afterAll(() => rm(compiled, { recursive: true }));

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "keepsake-ai-sdk-"));
  programs = [];
});

afterEach(async () => {
  await Promise.all(programs.map((program) => program.stop()));
  await rm(home, { recursive: true });
});

function start({ args = [], env = {} }: Partial<ProgramOptions> = {}): Program {
  const program = new Program({ home, args, env: { NODE_COMPILE_CACHE: compiled, ...env } });
  programs.push(program);
  return program;
}

const sessionFile = (name = "ann"): string => join(home, "example-ai-sdk", `session-${name}.json`);

/** Everything that is remembered of anybody, as it stands in files. */
async function documents(): Promise<string> {
  const root = join(home, "file");
  const folders = await readdir(root);
  return (await Promise.all(folders.map((folder) => readFile(join(root, folder, "memory.md"), "utf8")))).join("\n");
}

/** The messages of one saved turn: their roles, each with the types of its parts. */
async function savedTurn(input: string): Promise<readonly string[]> {
  const { history } = JSON.parse(await readFile(sessionFile(), "utf8"));
  const messages: { role: string; content: string | { type: string; output?: { type: string } }[] }[] = history.map(
    (entry: { message: unknown }) => entry.message,
  );
  const from = messages.findLastIndex(({ content }) => content === input);
  const next = messages.findIndex(({ role }, index) => index > from && role === "user");
  return messages.slice(from, next === -1 ? undefined : next).map(({ role, content }) => {
    if (typeof content === "string") return role;
    return [role, ...content.map(({ type, output }) => (output === undefined ? type : `${type} ${output.type}`))].join(
      " ",
    );
  });
}

function expectPlain({ code, stdout, stderr }: Ended): void {
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).not.toContain("\u001b");
  expect(stdout).not.toMatch(/^\s+at /m); // no stack
}

describe("memory", () => {
  it("is there in a new session, and its use is shown", async () => {
    const chat = start();
    const heading = await chat.say("Remember that I drink oolong tea.", "I will remember that.");
    expect(heading).toContain(`memory    ${join(home, "file")}\n`);
    expect(heading).toContain("recalled nothing\n");
    expect(heading).toContain('profile__save_memory: {"saved":true,"duplicate":false,"index":0}\n');
    await chat.say("/new", "ann: a new session\n");
    const answer = await chat.say("Which tea is mine?", "You told me: I drink oolong tea.\n");
    expect(answer).toContain("  recalled 0: I drink oolong tea.\n");
    expectPlain(await chat.endInput());
  });

  it("is each person's own", async () => {
    const chat = start();
    await chat.say("Remember that I drink oolong.", "I will remember that.");
    const bens = await chat.say(["/user Ben", "What do I drink?"], "I have nothing about that.");
    expect(bens).toContain("ben: a new session\n  recalled nothing\n");
    await chat.say("Remember that I drink coffee.", "I will remember that.");
    const bensLater = await chat.say(["/new", "What do I drink?"], "You told me: I drink coffee.\n");
    expect(bens + bensLater).not.toContain("oolong");
    const anns = await chat.say(["/user ann", "What do I drink?"], "You told me: I drink oolong.\n");
    expect(anns).not.toContain("coffee");
    expect(anns).toContain("ann: going on after turn 1\n");
    expectPlain(await chat.endInput());
  });

  it("refuses a secret, and keeps what is none", async () => {
    const secret = `ghp_${"x7Qp2LmZ9".repeat(4)}`; // put together here, so that no scanner takes it for a real one
    const chat = start();
    await chat.say("Remember that my cat is Miso.", "I will remember that.");
    const refusal = await chat.say(`Remember that my token is ${secret}`, "I was not allowed to do that.\n");
    expect(refusal).toContain("profile__save_memory: refused: ");
    expectPlain(await chat.endInput());
    const kept = await documents();
    expect(kept).toContain("my cat is Miso.");
    expect(kept).not.toContain(secret);
  });
});

describe("removing a memory", () => {
  const question = 'Forget "I drink oolong tea."? [y/N]\n';
  const ask = async (answer: string, expected: string): Promise<Program> => {
    const chat = start();
    await chat.say("Remember that I drink oolong tea.", "I will remember that.");
    await chat.say("Forget my tea.", question);
    await chat.say(answer, expected);
    return chat;
  };

  it("happens when the person agrees", async () => {
    const chat = await ask("y", 'profile__remove_memory: {"removed":true,"index":0}\nIt is forgotten.\n');
    await chat.say("Which tea?", "recalled nothing\nI have nothing about that.");
    expectPlain(await chat.endInput());
    expect(await documents()).not.toContain("oolong");
    expect(await savedTurn("Forget my tea.")).toEqual([
      "user",
      "assistant tool-call tool-approval-request",
      "tool tool-approval-response",
      "tool tool-result json",
      "assistant text",
    ]);
  });

  it.each(["n", "", "yesterday"])("does not happen when the answer is %j", async (answer) => {
    const chat = await ask(answer, "profile__remove_memory: not allowed\nThen I keep it.\n");
    expectPlain(await chat.endInput());
    expect(await documents()).toContain("I drink oolong tea.");
    expect(await savedTurn("Forget my tea.")).toEqual([
      "user",
      "assistant tool-call tool-approval-request",
      "tool tool-approval-response",
      "tool tool-result execution-denied",
      "assistant text",
    ]);
    const later = start(); // the answered question is part of the conversation that goes on
    await later.say("Which tea?", "You told me: I drink oolong tea.\n");
    expectPlain(await later.endInput());
  });

  it("does not happen when nobody is left to ask", async () => {
    const chat = start();
    await chat.say(["Remember that I drink oolong tea.", "Forget my tea."], question);
    const ended = await chat.endInput();
    expectPlain(ended);
    expect(ended.stdout).toContain("Then I keep it.\n");
    expect(await documents()).toContain("I drink oolong tea.");
  });

  it("can be given up with the turn", async () => {
    const chat = start();
    await chat.say(["Remember that I drink oolong tea.", "Forget my tea."], question);
    chat.interrupt();
    await chat.see("(stopped)\n");
    await chat.say("y", "I have nothing about that."); // no answer to the question any more
    await chat.say("Which tea?", "You told me: I drink oolong tea.\n");
    expectPlain(await chat.endInput());
  });
});

describe("a conversation", () => {
  it("goes on when the program is started again, unless a new session was begun", async () => {
    const first = start();
    await first.say("Hello there.", "I have nothing about that.");
    await first.say("/quit", "");
    expectPlain(await first.end());

    const second = start();
    await second.see("ann: going on after turn 1\n");
    await second.say("What did I say?", 'You said: "Hello there."\n');
    await second.say("/new", "ann: a new session\n");
    expectPlain(await second.endInput());

    const third = start();
    await third.see("ann: a new session\n");
    await third.say("What did I say?", "Nothing yet.\n");
    expectPlain(await third.endInput());
  });

  it.each(["{", '{"version":1}', '{"version":7}'])(
    "whose file holds %s begins anew, and the file is kept",
    async (text) => {
      const first = start();
      await first.say("Remember that I drink oolong tea.", "I will remember that.");
      await first.endInput();
      await writeFile(sessionFile(), text);

      const chat = start();
      const warning = await chat.see("ann: a new session\n");
      const [, moved = ""] =
        /^The saved session of ann cannot be understood\. It was moved to (.*)\.$/m.exec(warning) ?? [];
      expect(await readFile(moved, "utf8")).toBe(text);
      await chat.say("Which tea?", "You told me: I drink oolong tea.\n");
      expectPlain(await chat.endInput());

      const next = start();
      await next.see("ann: going on after turn 1\n");
      expectPlain(await next.endInput());
      expect(await readFile(moved, "utf8")).toBe(text);
    },
  );

  it("whose file cannot be read is not begun, and another person's is", async () => {
    const first = start({ args: ["--user", "ben"] });
    await first.say("Hello there.", "I have nothing about that.");
    await first.endInput();
    await mkdir(sessionFile());

    const refused = await start().end();
    expect(refused.code).toBe(1);
    expect(refused.stderr).toBe(`The conversation in ${sessionFile()} cannot be read: EISDIR.\n`);
    const chat = start({ args: ["--user", "ben"] });
    await chat.see("ben: going on after turn 1\n");
    await chat.say("/user ann", "cannot be read: EISDIR.\n");
    await chat.say("What did I say?", 'You said: "Hello there."\n');
    expectPlain(await chat.endInput());
  });

  it("that cannot be saved goes on, and says so", async () => {
    const chat = start();
    await chat.say("Hello there.", "I have nothing about that.");
    await chat.say("/help", "Ctrl-C stops an answer\n"); // by now the turn is saved
    await rm(join(home, "example-ai-sdk"), { recursive: true });
    await writeFile(join(home, "example-ai-sdk"), "in the way");
    await chat.say("Once more.", "The session could not be saved, and goes on here only: EEXIST");
    await chat.say("What did I say?", 'You said: "Once more."\n');
    expectPlain(await chat.endInput());
  });

  it("answers each line of a pipe in turn, with nothing between to wait for", async () => {
    const chat = start();
    await chat.say(["Remember that I drink oolong.", "", "What do I drink?", "What did I say?"], "");
    const ended = await chat.endInput();
    expectPlain(ended);
    expect(ended.stdout).toMatch(
      /I will remember that\.[\s\S]*You told me: I drink oolong\.[\s\S]*You said: "What do I drink\?"\n$/,
    );
  });
});

describe("when something fails", () => {
  it("Ctrl-C stops an answer, and the chat goes on", async () => {
    const chat = start();
    await chat.say("Remember that I drink oolong tea.", "I will remember that.");
    await chat.say("Think about tea.", "Let me think.");
    chat.interrupt();
    await chat.see("(stopped)\n");
    await chat.say("Which tea?", "You told me: I drink oolong tea.\n");
    await chat.say("What did I say?", 'You said: "Which tea?"\n');
    expectPlain(await chat.endInput());
  });

  it("Ctrl-C while nothing happens ends a chat that has no terminal", async () => {
    const chat = start();
    await chat.say("Hello there.", "I have nothing about that.");
    await chat.say("/new", "a new session\n");
    chat.interrupt();
    expectPlain(await chat.end());
  });

  it("a failing model is one line, and the chat goes on", async () => {
    const chat = start();
    await chat.say("Fail, please.", "That failed: The script fails, as it was told.\n");
    await chat.say("Remember that I drink oolong.", "I will remember that.");
    expectPlain(await chat.endInput());
  });

  it("a failing memory is one line, and the chat goes on when it is mended", async () => {
    await writeFile(join(home, "file"), "in the way");
    const chat = start();
    await chat.say(
      "Hello.",
      'That failed: Memory slot "profile" could not recall. The turn was not started. (backend_failed)\n',
    );
    await rm(join(home, "file"));
    await chat.say("Remember that I drink oolong.", "I will remember that.");
    expectPlain(await chat.endInput());
    expect(await documents()).toContain("I drink oolong.");
  });

  it("a command that is none is answered with those that are", async () => {
    const chat = start();
    await chat.say("/forget", '"/forget" is none of these:\n/new ');
    await chat.say("/user ../ben", "A name has 1 to 32 letters, digits, - or _.\n");
    await chat.say("/user Zoë", "zoë: a new session\n");
    expectPlain(await chat.endInput());
  });
});

it("a real model without a key is refused with what to set", async () => {
  const ended = await start({ args: ["--model", "openai/gpt-6-luna"] }).endInput();
  const stderr = "--model openai/gpt-6-luna needs a key: set AI_GATEWAY_API_KEY, or leave --model out.\n";
  expect(ended).toEqual({ code: 1, stdout: "", stderr });
});

it("a real model with a key is named at the start", async () => {
  const chat = start({ args: ["--model", "openai/gpt-6-luna"], env: { AI_GATEWAY_API_KEY: "some-key" } });
  await chat.see("model     openai/gpt-6-luna\n");
  expectPlain(await chat.endInput());
});

it("an argument that is none is refused with how the chat is used", async () => {
  const ended = await start({ args: ["--modle", "x"] }).endInput();
  expect(ended).toMatchObject({ code: 1, stdout: "" });
  expect(ended.stderr).toMatch(/^[^\n]*'--modle'[^\n]*\nUsage: [^\n]*\n$/);
});

it("the README shows the code as it is", async () => {
  const read = (name: string): Promise<string> => readFile(join(import.meta.dirname, name), "utf8");
  const sources = (await Promise.all(["memory.ts", "turn.ts"].map(read))).join("\n");
  const shown = [...(await read("README.md")).matchAll(/```ts\n(.*?)```/gs)].map(([, code = ""]) => code);
  expect(shown).toHaveLength(3);
  for (const code of shown) expect(sources).toContain(code);
});
