/** Slots as files of a folder, for Node: `memory.ts` is one slot, `memory/<slot>.ts` is one each. */
import { readdir, stat } from "node:fs/promises";
import { join, parse } from "node:path";
import { pathToFileURL } from "node:url";
import {
  checkMemoryDefinition,
  checkOptions,
  isDefinedMemory,
  type MemoryDefinition,
  MemoryError,
  optionIs,
} from "@keepsake/core";
import { slotName } from "./slots.ts";

export interface SlotsFromFolderOptions {
  /**
   * Folders of extensions that the agent uses. Whose memory is shared with whom is for the agent to say: an extension that
   * brings slots of its own is refused.
   */
  readonly extensions?: readonly string[];
}

const source = /\.[mc]?[jt]s$/;
const notASlot = /\.(?:test|spec)\.[mc]?[jt]s$|\.d\.[mc]?ts$/;

/**
 * Loads the slots of an agent: `memory.ts` as one slot named `memory`, or `memory/<slot>.ts` as one each, by default export.
 * Files end in `.ts`, `.mts`, `.cts`, `.js`, `.mjs` or `.cjs`; tests and sub-folders are passed over. TypeScript needs a
 * Node that strips types (22.18, 24) or a loader. A default export may also be a function that answers the definition.
 * @param folder The agent's folder, such as `agent`; relative to the working directory.
 * @throws MemoryError `invalid_definition` for both forms at once, a name that cannot be one, two files of one slot, a file
 * that exports no memory, and an extension with memory; `not_configured` where there is neither form, no slot or no such folder;
 * `invalid_options`. What a file throws while it is loaded is passed on.
 */
export async function slotsFromFolder(
  folder: string,
  options: SlotsFromFolderOptions = {},
): Promise<Record<string, MemoryDefinition>> {
  checkOptions("slotsFromFolder()", options, {
    extensions: (value) => Array.isArray(value) && value.every(optionIs.text),
  });
  const { extensions = [] } = options;
  for (const each of extensions) {
    if (await hasMemory(each)) {
      throw new MemoryError(
        "invalid_definition",
        `The extension "${each}" declares memory. Move its slots to the agent that uses it: the agent decides who shares them.`,
      );
    }
  }
  const { flat, named } = await findSlots(folder);
  if (flat.length > 0 && named !== undefined) {
    throw new MemoryError(
      "invalid_definition",
      `"${folder}" has both a memory file and a memory folder. Keep one: memory.ts for a single slot, memory/ for named ones.`,
    );
  }
  if (flat.length === 0 && named === undefined) {
    throw new MemoryError("not_configured", `"${folder}" has neither memory.ts nor memory/. Add one of them.`);
  }
  if (named?.length === 0) {
    throw new MemoryError("not_configured", `"${join(folder, "memory")}" has no slot. Add a file such as profile.ts.`);
  }
  const files =
    named === undefined ? flat.map((file) => join(folder, file)) : named.map((file) => join(folder, "memory", file));
  const slots: Record<string, MemoryDefinition> = {};
  for (const file of files) {
    const { name } = parse(file);
    if (!slotName.test(name)) {
      throw new MemoryError(
        "invalid_definition",
        `Rename "${file}": a slot's name starts with an ASCII letter and goes on with letters, digits, underscores or ` +
          "dashes, 64 characters at most.",
      );
    }
    if (Object.hasOwn(slots, name)) {
      throw new MemoryError("invalid_definition", `Memory slot "${name}" has two files. Keep one of them.`, {
        slot: name,
      });
    }
    slots[name] = await loadSlot(file, name);
  }
  return slots;
}

async function loadSlot(file: string, slot: string): Promise<MemoryDefinition> {
  const module: { readonly default?: unknown } = await import(pathToFileURL(file).href);
  const exported = isCompiledToCommonJs(module.default) ? module.default.default : module.default;
  const definition: unknown = typeof exported === "function" ? await exported() : exported;
  if (exported === undefined) {
    throw new MemoryError(
      "invalid_definition",
      `"${file}" has no default export. Export the slot as its default; keep other files outside of the folder.`,
      { slot },
    );
  }
  if (!isDefinedMemory(definition)) {
    throw new MemoryError(
      "invalid_definition",
      `The default export of "${file}" is no memory slot. Make it with defineMemory().`,
      { slot },
    );
  }
  checkMemoryDefinition(definition, slot);
  return definition;
}

/** Where TypeScript makes CommonJS of `export default`, Node answers all of a module's exports as its default. */
function isCompiledToCommonJs(exported: unknown): exported is { readonly default: unknown } {
  return typeof exported === "object" && exported !== null && Reflect.get(exported, "__esModule") === true;
}

async function hasMemory(folder: string): Promise<boolean> {
  const { flat, named } = await findSlots(folder);
  return flat.length > 0 || named !== undefined;
}

async function findSlots(folder: string): Promise<{ readonly flat: string[]; readonly named: string[] | undefined }> {
  const entries = await entriesOf(folder);
  const flat = sourceFiles(entries).filter((file) => parse(file).name === "memory");
  const inner = entries.find(({ name }) => name === "memory");
  if (inner === undefined) return { flat, named: undefined };
  if (!inner.isFolder) {
    throw new MemoryError(
      "invalid_definition",
      `"${join(folder, "memory")}" is a file. Make it a folder of slots, or call it memory.ts for a single one.`,
    );
  }
  return { flat, named: sourceFiles(await entriesOf(join(folder, "memory"))) };
}

interface Entry {
  readonly name: string;
  readonly isFolder: boolean;
}

/** Links are followed; hidden files, such as editors leave, are passed over. */
async function entriesOf(folder: string): Promise<Entry[]> {
  const names = await readdir(folder).catch((cause: unknown) => {
    throw new MemoryError(
      "not_configured",
      `The folder "${folder}" cannot be read. Give one that exists, absolute or relative to the working directory.`,
      { cause },
    );
  });
  const visible = names.filter((name) => !name.startsWith(".")).sort();
  return Promise.all(visible.map(async (name) => ({ name, isFolder: await isFolder(join(folder, name)) })));
}

/** A link to nowhere is none, and says so where it is loaded: only a slot is. */
async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

/** Sub-folders, tests and declarations are passed over. */
function sourceFiles(entries: readonly Entry[]): string[] {
  return entries
    .filter(({ name, isFolder }) => !isFolder && source.test(name) && !notASlot.test(name))
    .map(({ name }) => name);
}
