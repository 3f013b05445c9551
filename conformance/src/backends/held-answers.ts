/** Which answer of a backend is kept back: the part that every kind of backend has in common. */
import type { HeldAnswer } from "../backend.ts";

/** One answer that is kept back, from the side of whoever is about to give it. */
export interface Held {
  /** To be waited for when the answer is there. */
  untilReleased(): Promise<void>;
}

interface Waiting {
  readonly held: Held;
  left: number;
}

export class HeldAnswers {
  readonly #released = new Set<() => void>();
  readonly #waiting = new Set<Waiting>();

  /** The answer that comes after the next `after`. */
  hold({ after = 0 }: { readonly after?: number } = {}): HeldAnswer {
    const { promise, resolve } = Promise.withResolvers<void>();
    let isHeld = false;
    const held: Held = {
      untilReleased() {
        isHeld = true;
        return promise;
      },
    };
    const waiting = { held, left: after };
    this.#waiting.add(waiting);
    this.#released.add(resolve);
    return {
      isHeld: () => isHeld,
      release: () => {
        this.#waiting.delete(waiting);
        this.#released.delete(resolve);
        resolve();
      },
    };
  }

  /** To be asked once a request that has an answer to come: whether it is one that is kept back. */
  next(): Held | undefined {
    const due = [...this.#waiting].find(({ left }) => left === 0);
    if (due !== undefined) this.#waiting.delete(due);
    for (const waiting of this.#waiting) waiting.left = Math.max(0, waiting.left - 1);
    return due?.held;
  }

  releaseAll(): void {
    this.#waiting.clear();
    for (const release of this.#released) release();
    this.#released.clear();
  }
}
