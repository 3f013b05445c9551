import { describeConformance } from "@keepsake/conformance/vitest";

for (const subject of [
  new URL("./test-support/subjects/directory-subject.ts", import.meta.url),
  new URL("./test-support/subjects/in-memory-subject.ts", import.meta.url),
  new URL("./test-support/subjects/documents-subject.ts", import.meta.url),
  new URL("./test-support/subjects/vercel-blob-subject.ts", import.meta.url),
]) {
  describeConformance(subject, { profile: "strict" });
}
