import { mkdtemp, rm } from "node:fs/promises";
import { get } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "eve/client";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { type AgentProcess, type Caller, copyApp, hangGuardMs, startAgent } from "./test-support/agent-process.ts";

// Longer than the hang guards within one test or hook together, so that they speak first.
vi.setConfig({ testTimeout: 10 * hangGuardMs, hookTimeout: 10 * hangGuardMs });

const eveRuns = Number.parseInt(process.versions.node, 10) >= 24;

let folder: string;
let agent: AgentProcess | undefined;

const nobody: Caller = {};
const ann: Caller = { "x-user": "ann", "x-company": "acme" };
const ben: Caller = { "x-user": "ben", "x-company": "acme" };
const eve: Caller = { "x-user": "eve", "x-company": "globex" };

const kept = 'Done: {"saved":true,"duplicate":false,"index":0}';
const profileTools = ["profile__remove_memory", "profile__save_memory"];
const allTools = [...profileTools, "team__remove_memory", "team__save_memory"];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "keepsake-eve-agent-"));
  if (!eveRuns) return;
  await copyApp(folder);
  agent = await startAgent(folder);
  expect(await says(ann, "Remember: Ann drinks oolong tea.")).toBe(kept);
  expect(await says(ann, "Team: The office is closed on Fridays.")).toBe(kept);
});

beforeEach(({ skip }) => skip(!eveRuns, "eve needs Node 24"));

afterAll(async () => {
  try {
    await agent?.stop();
  } finally {
    await rm(folder, { recursive: true });
  }
});

function running(): AgentProcess {
  if (agent === undefined) throw new Error("No agent is running.");
  return agent;
}

/** The answer in a new session, where all that is known of earlier ones is memory. */
function says(caller: Caller, message: string): Promise<string> {
  return running().ask(caller, message);
}

/** What the model is shown from memory, by slot and number, and the tools that it is given. */
async function sees(
  caller: Caller,
): Promise<{ readonly memories: readonly string[]; readonly tools: readonly string[] }> {
  const lines = (await says(caller, "What do you know?")).split("\n");
  return {
    memories: lines.filter((line) => /^\w+ \d+: /.test(line)),
    tools: lines.at(-1)?.match(/\w+__\w+/g) ?? [],
  };
}

/** The status that a caller gets who addressed the agent by this name, as a web page of a rebound domain would. */
function statusAt(host: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const request = get(`${running().url}/eve/v1/info`, { headers: { host, "x-user": "ann" } }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    request.on("error", reject);
  });
}

describe.concurrent("an agent with a memory for each person and one for each company", () => {
  it("recalls in a later session what a person told it", async () => {
    expect(await sees(ann)).toEqual({
      memories: ["profile 0: Ann drinks oolong tea.", "team 0: The office is closed on Fridays."],
      tools: allTools,
    });
  });

  it("shows a colleague what the company shares, and not what somebody said about themselves", async () => {
    await says(ben, "Remember: Ben drinks coffee.");
    expect((await sees(ben)).memories).toEqual([
      "profile 0: Ben drinks coffee.",
      "team 0: The office is closed on Fridays.",
    ]);
  });

  it("shows somebody of another company neither, only what is theirs", async () => {
    await says(eve, "Remember: Eve drinks water.");
    await says(eve, "Team: Lunch is at noon.");
    expect((await sees(eve)).memories).toEqual(["profile 0: Eve drinks water.", "team 0: Lunch is at noon."]);
  });

  it("has no memory for somebody who is not signed in, and none to share for somebody without a company", async () => {
    expect(await says(nobody, "Remember: I was here.")).toBe("I was not given profile__save_memory.");
    expect(await sees(nobody)).toEqual({ memories: [], tools: [] });
    expect(await sees({ "x-user": "flo" })).toEqual({ memories: [], tools: profileTools });
  });

  it("forgets what it is told to, and nothing else", async () => {
    const gus: Caller = { "x-user": "gus" };
    await says(gus, "Remember: Gus lives in Turku.");
    await says(gus, "Remember: Gus has a cat.");
    expect(await says(gus, "Forget: 0")).toBe('Done: {"removed":true,"index":0}');
    expect((await sees(gus)).memories).toEqual(["profile 1: Gus has a cat."]);
  });

  it("says so when memory refuses a password, and saves nothing", async () => {
    const ida: Caller = { "x-user": "ida" };
    expect(await says(ida, `Remember: password=${"x7Qp2LmZ9".repeat(2)}`)).toMatch(/^That was refused: .*secret/);
    expect(await says(ida, "Remember: Ida likes riddles.")).toBe(kept); // the first one: its number is 0
  });

  it("believes who a caller says to be on loopback only", async () => {
    expect(await statusAt(new URL(running().url).host)).toBe(200);
    expect(await statusAt("agent.example.com")).toBe(401);
  });
});

describe("a restart", () => {
  it("keeps every memory, although eve builds the agent anew", async () => {
    const build = async () => (await new Client({ host: running().url, headers: ann }).info()).agent.appRoot;
    const before = await build();
    await running().stop();
    agent = undefined;
    agent = await startAgent(folder);
    expect(await build()).not.toBe(before); // eve derives its default namespace from this
    const memories = ["profile 0: Ann drinks oolong tea.", "team 0: The office is closed on Fridays."];
    expect((await sees(ann)).memories).toEqual(memories);
  });
});
