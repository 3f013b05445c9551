import { defineSubject } from "@keepsake/conformance";
import { notesMemory } from "./notes.ts";

export default defineSubject({
  backend: "none", // it keeps everything in its own process
  time: "injected",
  create: () => notesMemory(),
});
