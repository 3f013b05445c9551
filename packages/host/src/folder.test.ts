/** Slots from real files: what a folder may hold, and what is said of one that cannot be used. */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { MemoryError, type MemoryErrorCode } from "@keepsake/core";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type SlotsFromFolderOptions, slotsFromFolder } from "./folder.ts";
import { createMemoryHost } from "./index.ts";

const packageFolder = dirname(import.meta.dirname);
/** Within the package, so that slots find what they import; git does not see it. */
const testFolders = join(packageFolder, ".vitest");
let agent: string;

beforeEach(async () => {
  await mkdir(testFolders, { recursive: true });
  agent = await mkdtemp(join(testFolders, "agent-"));
});

afterEach(() => rm(agent, { recursive: true }));

/** Writes the files of the agent's folder, by path. */
async function write(files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(agent, path)), { recursive: true });
    await writeFile(join(agent, path), text);
  }
}

const definition = (description: string, more = ""): string => `{
  description: ${JSON.stringify(description)},
  scope: "everyone",
  provider: { recall: { "turn.started": () => ({ messages: [{ content: ${JSON.stringify(description)} }] }) } },
  ${more}
}`;
const slot = (description = "d"): string => `
  import { defineMemory } from "@keepsake/core";
  export default defineMemory(${definition(description)});`;
const broken = `throw new Error("This file must not be loaded.");`;

async function descriptions(options?: SlotsFromFolderOptions): Promise<Record<string, string | undefined>> {
  const slots = await slotsFromFolder(agent, options);
  return Object.fromEntries(Object.entries(slots).map(([name, { description }]) => [name, description]));
}

async function expectRefusal(
  loading: Promise<unknown>,
  { code, says }: { readonly code: MemoryErrorCode; readonly says: RegExp },
): Promise<void> {
  const error: unknown = await loading.catch((reason: unknown) => reason);
  expect(MemoryError.isInstance(error), String(error)).toBe(true);
  expect(error).toMatchObject({ code, message: expect.stringMatching(says) });
}

describe("an agent's folder", () => {
  it("with memory.ts has one slot, named memory", async () => {
    await write({ "memory.ts": slot("the only one"), "instructions.md": "Be kind.", "tools/save.ts": broken });
    expect(await descriptions()).toEqual({ memory: "the only one" });
  });

  it("with memory/ has one slot a file, named after it", async () => {
    await write({ "memory/profile.ts": slot("who you are"), "memory/work-log_2.mts": slot("what you did") });
    expect(await descriptions()).toEqual({ profile: "who you are", "work-log_2": "what you did" });
  });

  it("may be given relative to the working directory", async () => {
    await write({ "memory/profile.ts": slot("near") });
    expect(Object.keys(await slotsFromFolder(relative(process.cwd(), agent)))).toEqual(["profile"]);
  });

  it("keeps tests, declarations, sub-folders, hidden files and other texts beside its slots", async () => {
    await write({
      "memory/profile.ts": slot(),
      "memory/profile.test.ts": broken,
      "memory/profile.spec.mjs": broken,
      "memory/profile.d.ts": broken,
      "memory/profile.d.mts": broken,
      "memory/.profile.ts": broken,
      "memory/shared/store.ts": broken,
      "memory/folder.ts/inner.ts": broken,
      "memory/notes.md": "text",
      "memory/data.json": "{}",
      "memory.test.ts": broken,
      "memory.d.ts": broken,
    });
    expect(Object.keys(await slotsFromFolder(agent))).toEqual(["profile"]);
  });

  it("keeps the same beside memory.ts", async () => {
    await write({
      "memory.ts": slot(),
      "memory.test.ts": broken,
      "memory.d.ts": broken,
      "memory.config.ts": broken,
      "memory-limits.ts": broken,
      "memories/profile.ts": broken,
      ".memory/profile.ts": broken,
    });
    expect(Object.keys(await slotsFromFolder(agent))).toEqual(["memory"]);
  });

  it("may hold links: to slots, and beside them to nowhere", async () => {
    await write({ "memory/profile.ts": slot("linked to"), "elsewhere/work.ts": slot("from elsewhere") });
    await symlink(join(agent, "elsewhere/work.ts"), join(agent, "memory/work.ts"));
    await symlink(join(agent, "gone"), join(agent, "skills"));
    expect(await descriptions()).toEqual({ profile: "linked to", work: "from elsewhere" });
  });

  it("whose slot is a link to nowhere does not go without the slot", async () => {
    await write({ "memory/profile.ts": slot() });
    await symlink(join(agent, "gone.ts"), join(agent, "memory/work.ts"));
    await expect(slotsFromFolder(agent)).rejects.toThrow(/work\.ts/);
  });

  it("has slots that run", async () => {
    await write({ "memory/profile.ts": slot("likes tea"), "memory/work.ts": slot("paints") });
    const host = createMemoryHost({ slots: await slotsFromFolder(agent) });
    const { messages } = await host.session().startTurn("hello");
    expect(messages.map(({ content }) => content)).toEqual(["likes tea", "paints", "hello"]);
  });

  it("with both forms is refused", async () => {
    await write({ "memory.ts": slot(), "memory/profile.ts": slot() });
    await expectRefusal(slotsFromFolder(agent), {
      code: "invalid_definition",
      says: /Keep one: memory\.ts .*memory\//,
    });
    await rm(join(agent, "memory.ts"));
    expect(await descriptions()).toEqual({ profile: "d" });
  });

  it("with neither form is refused", async () => {
    await write({ "agent.ts": broken, "memories/profile.ts": broken, "memory.md": "text" });
    await expectRefusal(slotsFromFolder(agent), { code: "not_configured", says: /neither .*\. Add one/ });
  });

  it("of slots that has none is refused", async () => {
    await write({ "memory/more/profile.ts": slot(), "memory/profile.test.ts": slot(), "memory/notes.json": "{}" });
    await expectRefusal(slotsFromFolder(agent), { code: "not_configured", says: /memory" has no slot\. Add a file/ });
  });

  it("that does not exist is refused", async () => {
    const nowhere = join(agent, "nowhere");
    await expectRefusal(slotsFromFolder(nowhere), { code: "not_configured", says: /nowhere" cannot be read\. Give/ });
  });

  it("with a file where memory/ should be is refused", async () => {
    await write({ memory: "likes tea" });
    await expectRefusal(slotsFromFolder(agent), { code: "invalid_definition", says: /Make it a folder.*memory\.ts/ });
  });
});

describe("a slot's name", () => {
  it.each(["1st", "a.b", "_x", "a b", "é", "x".repeat(65)])("cannot be %j", async (name) => {
    await write({ [`memory/${name}.ts`]: broken, "memory/profile.ts": slot() });
    await expectRefusal(slotsFromFolder(agent), {
      code: "invalid_definition",
      says: /Rename ".*": a slot's name starts with an ASCII letter .* letters, digits, underscores or dashes, 64/,
    });
  });

  it.each(["x".repeat(64), "a-b_9", "Z", "constructor", "memory"])("can be %j", async (name) => {
    await write({ [`memory/${name}.ts`]: slot() });
    expect(Object.keys(await slotsFromFolder(agent))).toEqual([name]);
  });

  it("belongs to one file", async () => {
    await write({ "memory/profile.ts": slot(), "memory/profile.js": slot() });
    const says = /slot "profile" has two files\. Keep one/;
    await expectRefusal(slotsFromFolder(agent), { code: "invalid_definition", says });
    await rm(join(agent, "memory/profile.js"));
    expect(await descriptions()).toEqual({ profile: "d" });
  });

  it("belongs to one file, the single slot's too", async () => {
    await write({ "memory.ts": slot(), "memory.mjs": slot() });
    const says = /slot "memory" has two files\. Keep one/;
    await expectRefusal(slotsFromFolder(agent), { code: "invalid_definition", says });
  });
});

describe("a slot's file", () => {
  it.each([
    ["something else", "export default { scope: 's', provider: {} };"],
    ["text", "export default 'likes tea';"],
    ["a definition that was not made with defineMemory", `export default ${definition("d")};`],
    ["a function that answers something else", "export default () => ({ scope: 's' });"],
    ["a function that answers nothing", "export default async () => {};"],
  ])("that exports %s is refused", async (_, text) => {
    await write({ "memory/profile.ts": text });
    await expectRefusal(slotsFromFolder(agent), {
      code: "invalid_definition",
      says: /default export of ".*profile\.ts" is no memory slot\. Make it with defineMemory\(\)/,
    });
  });

  it.each([
    ["nothing", "export {};"],
    ["only by name", slot().replace("export default", "export const profile =")],
  ])("that exports %s is refused", async (_, text) => {
    await write({ "memory/profile.ts": text });
    await expectRefusal(slotsFromFolder(agent), {
      code: "invalid_definition",
      says: /profile\.ts" has no default export\. Export the slot as its default/,
    });
  });

  it.each(["", "async "])("may export an %sfunction, which is called once and with nothing", async (kind) => {
    await write({
      "memory/profile.ts": `
        import { defineMemory } from "@keepsake/core";
        export const calls = [];
        export default ${kind}function (...given) {
          calls.push(given);
          return defineMemory(${definition("made")});
        }`,
    });
    expect(await descriptions()).toEqual({ profile: "made" });
    const module: unknown = await import(pathToFileURL(join(agent, "memory/profile.ts")).href);
    expect(module).toMatchObject({ calls: [[]] });
  });

  it("may be made with eve's defineMemory", async () => {
    await write({ "memory/profile.ts": slot("made for eve").replace("@keepsake/core", "eve/memory") });
    const slots = await slotsFromFolder(agent);
    const { messages } = await createMemoryHost({ slots }).session().startTurn("hello");
    expect(messages[0]?.content).toBe("made for eve");
  });

  it("with an unknown key in its definition is refused by the name of slot and key", async () => {
    const text = slot().replace("@keepsake/core", "eve/memory"); // eve's definer checks nothing
    await write({ "memory/profile.ts": text.replace("scope:", "visibilty: 'session', scope:") });
    await expectRefusal(slotsFromFolder(agent), {
      code: "invalid_definition",
      says: /slot "profile" has unknown keys: visibilty\. Known are .*visibility/,
    });
    await write({ "memory/work.ts": text });
    await rm(join(agent, "memory/profile.ts"));
    expect(await descriptions()).toEqual({ work: "d" });
  });

  it.each([
    ["when it is loaded", `throw new RangeError("No store at port 7.");`],
    ["when its function is called", `export default async () => { throw new RangeError("No store at port 7."); };`],
  ])("that throws %s passes its own error on", async (_, text) => {
    await write({ "memory/profile.ts": text });
    await expect(slotsFromFolder(agent)).rejects.toThrow(new RangeError("No store at port 7."));
  });
});

describe("an extension", () => {
  it.each(["extension/memory.ts", "extension/memory.cjs", "extension/memory/profile.ts"])(
    "with %s is refused",
    async (path) => {
      await write({ "memory.ts": slot("the agent's"), [path]: broken });
      const extensions = [join(agent, "extension")];
      const says = /extension ".*extension" declares memory\. Move its slots to the agent/;
      await expectRefusal(slotsFromFolder(agent, { extensions }), { code: "invalid_definition", says });
    },
  );

  it("without memory is accepted, and brings none", async () => {
    await write({ "memory.ts": slot("the agent's"), "extension/tools/search.ts": broken });
    expect(await descriptions({ extensions: [join(agent, "extension")] })).toEqual({ memory: "the agent's" });
  });

  it("that does not exist is not taken for one without memory", async () => {
    await write({ "memory.ts": slot() });
    const extensions = [join(agent, "extention")];
    await expectRefusal(slotsFromFolder(agent, { extensions }), { code: "not_configured", says: /extention/ });
  });

  it.each([{ extension: ["x"] }, { extensions: "x" }, { extensions: [1] }])(
    "cannot be passed over by options as in %j",
    async (options) => {
      await write({ "memory.ts": slot() });
      const loading = slotsFromFolder(agent, options as SlotsFromFolderOptions);
      await expectRefusal(loading, { code: "invalid_options", says: /slotsFromFolder\(\).*extensions/ });
    },
  );
});

describe("in Node itself", () => {
  /** The descriptions of the slots in `folder`, as a program without any tool around it loads them. */
  async function loadInNode(folder: string): Promise<unknown> {
    const program = `
      import { slotsFromFolder } from "@keepsake/host/folder";
      const slots = await slotsFromFolder(process.argv[1]);
      console.log(JSON.stringify(Object.entries(slots).map(([name, { description }]) => [name, description])));`;
    const args = ["--input-type=module", "--eval", program, folder];
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: packageFolder });
    return Object.fromEntries(JSON.parse(stdout));
  }

  const commonJs = (description: string): string => `
    const { defineMemory } = require("@keepsake/core");
    module.exports = defineMemory(${definition(description)});`;
  const typed = (text: string): string => `${text}\nexport const typed: string = "erased";`;

  it("all six endings are loaded, from a folder of any name", async () => {
    await write({
      "50% #1 ?/memory/ts.ts": typed(slot("ts")),
      "50% #1 ?/memory/mts.mts": typed(slot("mts")),
      "50% #1 ?/memory/cts.cts": `${commonJs("cts")}\nconst typed: string = "erased";`,
      "50% #1 ?/memory/js.js": slot("js"),
      "50% #1 ?/memory/mjs.mjs": slot("mjs"),
      "50% #1 ?/memory/cjs.cjs": commonJs("cjs"),
      "50% #1 ?/memory/jsx.jsx": broken,
      "50% #1 ?/memory/json.json": "{}",
    });
    const endings = ["ts", "mts", "cts", "js", "mjs", "cjs"];
    expect(await loadInNode(join(agent, "50% #1 ?"))).toEqual(
      Object.fromEntries(endings.map((ending) => [ending, ending])),
    );
  });

  it("a default export that TypeScript has compiled to CommonJS is found", async () => {
    await write({
      "memory/profile.cjs": `
        "use strict";
        Object.defineProperty(exports, "__esModule", { value: true });
        const core_1 = require("@keepsake/core");
        exports.default = (0, core_1.defineMemory)(${definition("compiled")});`,
      "memory/work.cjs": `
        "use strict";
        Object.defineProperty(exports, "__esModule", { value: true });
        const core_1 = require("@keepsake/core");
        exports.default = async () => (0, core_1.defineMemory)(${definition("compiled, and made")});`,
    });
    expect(await loadInNode(agent)).toEqual({ profile: "compiled", work: "compiled, and made" });
  });
});
