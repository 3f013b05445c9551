/** Saves texts one after another once told to start, and says of each, when the call has ended, how it went. */
import { MemoryError } from "@keepsake/core";
import { directory } from "../backends/directory.ts";
import { fileMemory } from "../file-memory.ts";
import { memoryOf } from "./memory-of.ts";
import { dying, watchedFileSystem } from "./watched-file-system.ts";

export interface SavingChildOptions {
  readonly root: string;
  readonly key: string;
  readonly sessionId: string;
  readonly texts: readonly string[];
  /** Ends the process before its file operation of this number, counted from 1. */
  readonly diesBeforeOperation?: number;
  /** Ends the process before the first file operation of this name. */
  readonly diesBefore?: string;
}

export type SavingChildMessage =
  | { readonly ready: true }
  | { readonly saved: string }
  | { readonly failed: string; readonly code: string };

const options: SavingChildOptions = JSON.parse(process.argv[2] ?? "");
const send = (message: SavingChildMessage): void => void process.send?.(message);

let operations = 0;
const fileSystem = watchedFileSystem(
  dying(({ name }) => {
    operations += 1;
    return operations === options.diesBeforeOperation || name === options.diesBefore;
  }),
);
const provider = fileMemory({ backend: directory({ root: options.root, fileSystem }), maxCharacters: 1_000_000 });
const { save } = memoryOf(provider, options.key, options.sessionId);

process.once("message", async () => {
  for (const text of options.texts) {
    try {
      await save(text, { callId: text });
      send({ saved: text });
    } catch (error) {
      send({ failed: text, code: MemoryError.isInstance(error) ? error.code : String(error) });
    }
  }
  process.disconnect();
});
process.once("disconnect", () => process.exit()); // not to outlive the tests
send({ ready: true });
