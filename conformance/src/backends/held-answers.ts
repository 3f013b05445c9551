/** Which answer of a backend is kept back: the part that every kind of backend has in common. */
import type { HeldAnswer } from "../backend.ts";

/** One answer that is kept back, from the side of whoever is about to give it. */
export interface Held {
  /** To be waited for when the answer is there. */
  untilReleased(): Promise<void>;
}

export class HeldAnswers {
  readonly #released = new Set<() => void>();
  #next: { readonly held: Held; left: number } | undefined;

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
    this.#next = { held, left: after };
    this.#released.add(resolve);
    return {
      isHeld: () => isHeld,
      release: () => {
        if (this.#next?.held === held) this.#next = undefined;
        this.#released.delete(resolve);
        resolve();
      },
    };
  }

  /** To be asked once a request: whether its answer is the one that is kept back. */
  next(): Held | undefined {
    const next = this.#next;
    if (next === undefined) return undefined;
    next.left -= 1;
    if (next.left >= 0) return undefined;
    this.#next = undefined;
    return next.held;
  }

  releaseAll(): void {
    this.#next = undefined;
    for (const release of this.#released) release();
    this.#released.clear();
  }
}
