/** The other process: loads the subject, makes its provider over the same backend, and does what it is told. */
import { allowUnencryptedTls } from "../backends/unencrypted-tls.ts";
import { Handle, ProviderThrew } from "../drive/handle.ts";
import type { Person, PersonOptions } from "../drive/person.ts";
import { loadSubject } from "../subject/load.ts";
import { createKitClock, installGlobalTime } from "../time/kit-clock.ts";
import { type EnvironmentRecord, recordEnvironment } from "./environment.ts";
import type { RemoteOptions } from "./remote-handle.ts";
import { serve } from "./rpc.ts";

let handle: Handle | undefined;
let environment: EnvironmentRecord | undefined;
let detach: (() => Promise<void>) | undefined;
const persons = new Map<string, Person>();

serve({
  async open(...[options]: readonly unknown[]) {
    const { moduleUrl, connection, facts, nowMs, ...rest } = options as RemoteOptions; // our parent's
    if ((options as RemoteOptions).recordsEnvironment === true) environment = recordEnvironment();
    if (facts.time === "global") installGlobalTime(nowMs);
    allowUnencryptedTls();
    const time = createKitClock(facts.time, nowMs);
    const subject = await loadSubject(moduleUrl);
    if (subject.backend !== "none" && connection !== undefined) detach = await subject.backend.attach?.(connection);
    handle = await unwrapped(Handle.open({ ...rest, subject, connection, time, busy: () => false }, facts));
  },
  async person(...[options, method, args]: readonly unknown[]) {
    if (handle === undefined) throw new TypeError("Nothing is open.");
    const key = JSON.stringify(options);
    const person = persons.get(key) ?? handle.person(options as PersonOptions); // our parent's
    persons.set(key, person);
    const member: unknown = Reflect.get(person, String(method));
    if (typeof member !== "function") throw new TypeError("There is no such method.");
    return unwrapped(Reflect.apply(member, person, Array.isArray(args) ? args : []));
  },
  environment: () => [...(environment?.read ?? [])].sort(),
  async close() {
    await handle?.close();
    await detach?.();
    persons.clear();
    [handle, detach] = [undefined, undefined];
  },
});

/** What the provider threw, without the kit's wrapping: the parent wraps it again. */
async function unwrapped<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    throw error instanceof ProviderThrew ? error.error : error;
  }
}
