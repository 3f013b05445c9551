/** File memory over a store of documents that somebody else wrote, reached over HTTP. */
import { defineSubject, documentsBackend, httpDocuments, type Subject } from "@keepsake/conformance";
import { fileMemory } from "../../file-memory.ts";
import { invalidOptions } from "../invalid-options.ts";

const subject: Subject = defineSubject({
  name: "fileMemory over documents",
  backend: documentsBackend(),
  time: "injected",
  create: ({ backend, clock, onEvent }) => fileMemory({ backend: httpDocuments(backend, { clock }), clock, onEvent }),
  invalidOptions,
});

export default subject;
