/**
 * The reference provider as a subject. The module's own URL says which: `?mutant=<id>` is one of the wrong ones,
 * `?backend=` and `?time=` what it stands on and goes by.
 */
import type { Clock, MemoryProvider } from "@keepsake/core";
import type { Connection } from "../backend.ts";
import { directoryBackend } from "../backends/directory.ts";
import { httpBackend } from "../backends/http.ts";
import { tcpBackend } from "../backends/tcp.ts";
import type { Mutant } from "../family.ts";
import { type CreateContext, defineSubject, type Subject } from "../subject/define.ts";
import { directoryRecordStore } from "./directory-store.ts";
import { httpRecordStore, recordService } from "./http-service.ts";
import { correctParts } from "./parts.ts";
import { previousTurn } from "./previous-turn.ts";
import { processRecordStore } from "./process-store.ts";
import { referenceProvider } from "./provider.ts";
import type { RecordStore } from "./record-store.ts";
import { recordServer, tcpRecordStore } from "./tcp-service.ts";

const asked = new URL(import.meta.url).searchParams;
const mutant = asked.has("mutant") ? await mutantOf(asked.get("mutant")) : undefined;
mutant?.imported?.();
const neverUsed = httpRecordStore({ url: "http://127.0.0.1:9", credential: "" });
const kind = asked.get("backend") ?? mutant?.backend ?? "http";
/** Loaded only where it is wanted: not every Node has it. */
const sqlite = kind === "sqlite" ? await import("./sqlite-store.ts") : undefined;
const time = timeOf(asked.get("time") ?? mutant?.time ?? "injected");

const correct: Subject = defineSubject({
  name: mutant?.id ?? `reference (${kind})`,
  backend: backendOf(kind),
  time,
  create: ({ backend, clock, onEvent, credential, ttlMs }: CreateContext): MemoryProvider => {
    const store = storeOf(backend, { credential, clock });
    const options = {
      store: mutant?.store?.(store, backend) ?? store,
      clock: time === "injected" ? clock : { now: () => Date.now() },
      onEvent,
      ttl: ttlMs,
    };
    const current = referenceProvider(options, { ...correctParts, ...mutant?.parts?.(correctParts) });
    const provider = asked.get("freshness") === "previous-turn" ? previousTurn(current, options) : current;
    return mutant?.provider?.(provider, options) ?? provider;
  },
  invalidOptions: [
    () => referenceProvider({ store: {} as RecordStore, clock: { now: () => 0 } }),
    () => referenceProvider({ store: neverUsed, clock: { now: () => 0 }, ttl: "soon" }),
    () => referenceProvider({ store: neverUsed, clock: { now: () => 0 }, ttl: -1 }),
  ],
});

const subject: Subject = { ...correct, ...mutant?.subject?.(correct) };

export default subject;

/** Loaded only where it is wanted: a plain reference provider starts faster without all the checks. */
async function mutantOf(id: string | null): Promise<Mutant> {
  const { allMutants } = await import("../families/index.ts");
  const found = allMutants.find((each) => each.id === id);
  if (found === undefined) throw new TypeError("There is no such mutant.");
  return found;
}

function backendOf(wanted: string): Subject["backend"] {
  if (wanted === "none") return "none";
  if (wanted === "directory" || wanted === "sqlite") return directoryBackend();
  if (wanted === "tcp") return tcpBackend({ server: recordServer });
  return httpBackend({ service: recordService });
}

function storeOf(connection: Connection, { credential, clock }: { credential: string; clock: Clock }): RecordStore {
  if (kind === "none") return processRecordStore(clock);
  if (connection.kind === "directory") {
    const options = { root: connection.root, now: clock.now };
    return sqlite?.sqliteRecordStore(options) ?? directoryRecordStore(options);
  }
  return connection.kind === "tcp" ? tcpRecordStore(connection) : httpRecordStore({ url: connection.url, credential });
}

function timeOf(wanted: string): "injected" | "global" | "real" {
  return wanted === "global" || wanted === "real" ? wanted : "injected";
}
