/** Runs the operations of one key one after another, and those of different keys side by side. A failure ends its own turn only. */
export type KeyedQueue = <T>(key: string, operation: () => Promise<T>) => Promise<T>;

export function createKeyedQueue(): KeyedQueue {
  const last = new Map<string, Promise<void>>();
  return (key, operation) => {
    const turn = (last.get(key) ?? Promise.resolve()).then(operation);
    const settled = turn.then(
      () => {},
      () => {},
    );
    last.set(key, settled);
    void settled.then(() => {
      if (last.get(key) === settled) last.delete(key);
    });
    return turn;
  };
}
