/**
 * File memory over Vercel Blob. The client waits between its own tries on the global timers, which nothing can be passed
 * to, so the whole process's time is replaced.
 */
import { defineSubject, type Subject } from "@keepsake/conformance";
import { vercelBlob } from "../../backends/vercel-blob.ts";
import { fileMemory } from "../../file-memory.ts";
import { blobBackend } from "../blob-backend.ts";
import { blobToken } from "../blob-store.ts";
import { invalidOptions } from "../invalid-options.ts";

const subject: Subject = defineSubject({
  name: "fileMemory over vercelBlob()",
  backend: blobBackend(),
  time: "global",
  create: ({ clock, onEvent, credential }) =>
    fileMemory({ backend: vercelBlob({ token: blobToken(credential) }), clock, onEvent }),
  invalidOptions: [...invalidOptions, () => vercelBlob({ prefix: "/" }), () => vercelBlob({ token: "" })],
});

export default subject;
