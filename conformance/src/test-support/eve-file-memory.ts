/** eve's own file memory, over documents that can be broken. */

import { defineSubject, documentsBackend, httpDocuments } from "@keepsake/conformance";
import { fileMemory } from "eve/memory/file";

export default defineSubject({
  name: "eve's fileMemory",
  backend: documentsBackend(),
  time: "injected",
  create: ({ backend, clock }) => fileMemory({ backend: httpDocuments(backend, { clock }) }),
});
