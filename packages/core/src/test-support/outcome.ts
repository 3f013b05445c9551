import { MemoryError, type MemoryErrorCode } from "../errors.ts";

/** The typed error that a call throws or rejects with; anything else fails the test. */
export async function memoryErrorOf(call: () => unknown): Promise<MemoryError> {
  try {
    await call();
  } catch (error) {
    if (MemoryError.isInstance(error)) return error;
    throw error;
  }
  throw new Error("Expected a MemoryError, but the call succeeded.");
}

export async function codeOf(call: () => unknown): Promise<MemoryErrorCode> {
  return (await memoryErrorOf(call)).code;
}

/** Lets everything that is already settled run on. */
export async function settle(): Promise<void> {
  for (let round = 0; round < 20; round += 1) await Promise.resolve();
}

export async function collect<T>(items: AsyncIterable<T> | undefined): Promise<readonly T[]> {
  const collected: T[] = [];
  for await (const item of items ?? []) collected.push(item);
  return collected;
}
