/** File memory over a folder, as most people run it. */
import { defineSubject, directoryBackend, type Subject } from "@keepsake/conformance";
import { directory } from "../../backends/directory.ts";
import { fileMemory } from "../../file-memory.ts";
import { invalidOptions } from "../invalid-options.ts";

const subject: Subject = defineSubject({
  name: "fileMemory over directory()",
  backend: directoryBackend(),
  time: "injected",
  create: ({ backend: { root }, clock, onEvent }) => fileMemory({ backend: directory({ root }), clock, onEvent }),
  invalidOptions: [...invalidOptions, () => directory({ root: "" })],
});

export default subject;
