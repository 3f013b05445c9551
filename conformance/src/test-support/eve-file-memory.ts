/** eve's own file memory, over documents that can be broken. */
import { fileMemory } from "eve/memory/file";
import { defineSubject, documentsBackend, httpDocuments } from "../index.ts";

export default defineSubject({
  name: "eve's fileMemory",
  backend: documentsBackend(),
  time: "injected",
  create: ({ backend, clock }) => fileMemory({ backend: httpDocuments(backend, { clock }) }),
});
