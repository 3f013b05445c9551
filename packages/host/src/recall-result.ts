/** What a provider may answer to a recall. */
import { byteLength, MemoryError, type MemoryRecallMessage } from "@keepsake/core";

const maxIdBytes = 1_024;

/**
 * The messages of a recall; `null`, `undefined` and an empty list all mean none.
 * @throws MemoryError `invalid_recall`, naming the slot and the place, never the content.
 */
export function parseRecallResult(slot: string, result: unknown): readonly MemoryRecallMessage[] {
  const refuse = (problem: string): never => {
    throw new MemoryError("invalid_recall", `Memory slot "${slot}": recall ${problem}.`, { slot });
  };
  if (result === null || result === undefined) return [];
  if (!isObject(result)) return refuse("must answer { messages }, null or undefined");
  if (hasOtherKeys(result, ["messages"])) return refuse("answered with keys beside messages");
  const { messages } = result;
  if (!Array.isArray(messages)) return refuse("must answer a list of messages");
  const ids = new Set<string>();
  return Array.from(messages, (message: unknown, index): MemoryRecallMessage => {
    if (!isObject(message)) return refuse(`message ${index} must be an object`);
    if (hasOtherKeys(message, ["content", "id"])) return refuse(`message ${index} has keys beside content and id`);
    const { content, id } = message;
    if (typeof content !== "string" || content.trim() === "") {
      return refuse(`message ${index} must have content that is not blank`);
    }
    if (id === undefined) return { content };
    if (typeof id !== "string" || id === "") return refuse(`message ${index} must have a non-empty id, or none`);
    if (byteLength(id) > maxIdBytes) return refuse(`message ${index} has an id of more than ${maxIdBytes} bytes`);
    if (ids.has(id)) return refuse(`message ${index} has the id of an earlier one`);
    ids.add(id);
    return { content, id };
  });
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function hasOtherKeys(value: object, known: readonly string[]): boolean {
  return Object.keys(value).some((key) => !known.includes(key));
}
