/** What a writing operation of `node:fs` writes, in the many forms in which it can be told. */
import type { FileOperation } from "./file-operations.ts";

/** The bytes that are written; nothing where the operation writes none, or is going to refuse its arguments. */
export function writtenBytes({ name, data: index }: FileOperation, args: readonly unknown[]): Buffer | undefined {
  if (index === undefined) return undefined;
  const [data, second, third] = args.slice(index);
  if (name === "writev")
    return Array.isArray(data) ? Buffer.concat(data.map((part) => bytesOf(part) ?? Buffer.alloc(0))) : undefined;
  const encoding = name === "write" ? third : encodingOf(second);
  const bytes = bytesOf(data, encoding);
  if (bytes === undefined || name !== "write" || typeof data === "string") return bytes;
  const { offset = 0, length } = isRecord(second) ? second : { offset: second ?? 0, length: third };
  const start = Number(offset);
  return bytes.subarray(start, typeof length === "number" ? start + length : undefined);
}

/** The arguments for writing these bytes in the place of what was to be written. */
export function withBytes(
  { name, data: index = 0 }: FileOperation,
  args: readonly unknown[],
  bytes: Buffer,
): unknown[] {
  const before = args.slice(0, index);
  const [data, second, , fourth] = args.slice(index);
  if (name === "writev") return [...before, [bytes], second];
  if (name !== "write") return args.toSpliced(index, 1, bytes);
  const position = typeof data === "string" ? second : isRecord(second) ? second.position : fourth;
  const isPosition = typeof position === "number" || typeof position === "bigint";
  return [...before, bytes, 0, bytes.length, isPosition ? position : null];
}

/** Whether the data come bit by bit, as `fs.promises.writeFile` takes them. */
export function isStreamed(data: unknown): data is AsyncIterable<unknown> | Iterable<unknown> {
  return isRecord(data) && !ArrayBuffer.isView(data) && (Symbol.asyncIterator in data || Symbol.iterator in data);
}

export async function collect(data: AsyncIterable<unknown> | Iterable<unknown>, options: unknown): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of data) chunks.push(bytesOf(chunk, encodingOf(options)) ?? Buffer.from(String(chunk)));
  return Buffer.concat(chunks);
}

function bytesOf(data: unknown, encoding?: unknown): Buffer | undefined {
  if (typeof data === "string") {
    return Buffer.from(data, typeof encoding === "string" && Buffer.isEncoding(encoding) ? encoding : "utf8");
  }
  return ArrayBuffer.isView(data) ? Buffer.from(data.buffer, data.byteOffset, data.byteLength) : undefined;
}

const encodingOf = (options: unknown): unknown => (isRecord(options) ? options.encoding : options);

const isRecord = (value: unknown): value is Record<PropertyKey, unknown> => typeof value === "object" && value !== null;
