/** Writes during which the backend fails, at each of their requests in turn, and which their caller then repeats. */
import type { Fault } from "../backend.ts";
import type { Bench } from "../bench.ts";
import type { Canary } from "./canary.ts";
import type { WritePath } from "./facts.ts";
import type { Handle } from "./handle.ts";
import type { Person } from "./person.ts";

interface InterruptedWrite {
  readonly person: Person;
  readonly memory: Canary;
}

interface Interruption {
  readonly path: WritePath;
  readonly fault: Fault;
}

const mostRequests = 8;
/** Longer than a provider spares a backend that has failed. */
const coolDownMs = 60_000;

/** One person and one memory for each request that a write makes. The repeat is the same operation, and has to succeed. */
export async function* repeatedAfter(
  bench: Bench,
  handle: Handle,
  { path, fault }: Interruption,
): AsyncGenerator<InterruptedWrite> {
  const before = bench.backend.observed().length;
  await bench.someone(handle).write(bench.canary().text, { path });
  const requests = Math.min(bench.backend.observed().length - before, mostRequests);
  for (let after = 0; after < requests; after += 1) {
    const [person, memory] = [bench.someone(handle), bench.canary()];
    const operation = { path, turn: person.begin(memory.text), callId: `call-${memory.topic}` };
    const write = () => person.write(memory.text, operation);
    bench.backend.inject(fault, { after });
    await bench.outcome(write);
    bench.backend.heal();
    const repeated = await bench.outcome(write);
    if (repeated.state === "rejected") {
      if (bench.facts.time !== "real") await bench.time.advance(coolDownMs);
      await write();
    }
    yield { person, memory };
  }
}
