/** File memory that ends with its process. */
import { defineSubject, type Subject } from "@keepsake/conformance";
import { inMemoryDocuments } from "@keepsake/core";
import { fileMemory } from "../../file-memory.ts";
import { invalidOptions } from "../invalid-options.ts";

const subject: Subject = defineSubject({
  name: "fileMemory over inMemory()",
  backend: "none",
  time: "injected",
  create: ({ clock, onEvent }) => fileMemory({ backend: inMemoryDocuments(), clock, onEvent }),
  invalidOptions,
});

export default subject;
