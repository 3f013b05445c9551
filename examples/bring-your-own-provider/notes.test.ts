import { describeConformance } from "@keepsake/conformance/vitest";

describeConformance(new URL("./notes.subject.ts", import.meta.url));
