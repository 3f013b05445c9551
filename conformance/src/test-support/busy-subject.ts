/** A provider whose recall computes for ever. */
import { defineSubject } from "../index.ts";
import { processRecordStore } from "../reference/process-store.ts";
import { referenceProvider } from "../reference/provider.ts";

export default defineSubject({
  backend: "none",
  time: "injected",
  create: ({ clock }) => ({
    ...referenceProvider({ store: processRecordStore(clock), clock }),
    recall: {
      "turn.started"() {
        for (;;);
      },
    },
  }),
  invalidOptions: [
    () => {
      throw new TypeError("There is no such option.");
    },
  ],
});
