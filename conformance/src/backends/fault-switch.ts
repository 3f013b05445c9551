/** Which fault a backend is in: the part that every kind of backend has in common. */
import type { Fault } from "../backend.ts";

export class FaultSwitch<F extends Fault> {
  readonly #accepts: (fault: Fault) => fault is F;
  readonly #held = new Set<() => void>();
  #fault: F | undefined;
  #healthyLeft = 0;

  constructor(accepts: (fault: Fault) => fault is F) {
    this.#accepts = accepts;
  }

  /** @throws TypeError for a fault of another kind of backend, which would otherwise silently be no fault at all. */
  inject(fault: Fault, { after = 0 }: { readonly after?: number } = {}): void {
    if (!this.#accepts(fault)) throw new TypeError(`This kind of backend cannot have the fault "${fault.name}".`);
    this.#fault = fault;
    this.#healthyLeft = after;
  }

  /** Ends the fault, and releases what it holds. */
  heal(): void {
    this.#fault = undefined;
    const held = [...this.#held];
    this.#held.clear();
    for (const release of held) release();
  }

  /** The fault that the next request is going to meet. */
  get due(): F | undefined {
    return this.#healthyLeft === 0 ? this.#fault : undefined;
  }

  /** To be asked once a request: the fault that it meets. */
  next(): F | undefined {
    const fault = this.due;
    if (this.#fault !== undefined && fault === undefined) this.#healthyLeft -= 1;
    return fault;
  }

  /** Calls `release` when the fault is healed. Answers how to call that off. */
  hold(release: () => void): () => void {
    this.#held.add(release);
    return () => this.#held.delete(release);
  }
}
