/** The code that it fails with, or `done`. */
export async function outcome(work: () => unknown): Promise<string> {
  try {
    await work();
    return "done";
  } catch (error) {
    return error instanceof Error && "code" in error ? String(error.code) : String(error);
  }
}

/** A promise of what comes to a callback. */
export function byCallback<T>(
  start: (done: (error: Error | null, result?: T) => void) => void,
): Promise<T | undefined> {
  return new Promise((resolve, reject) => start((error, result) => (error ? reject(error) : resolve(result))));
}
