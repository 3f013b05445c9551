/**
 * The one place that builds keys. Derivations and limits are those of eve 0.80.1, so that the same namespace and scope
 * reach the same data from any host: SHA-256 over tagged, length-prefixed UTF-8, as unpadded base64url.
 */
import { sha256 } from "@noble/hashes/sha2.js";
import { setBounded } from "./bounded-map.ts";
import { MemoryError } from "./errors.ts";

const maxPartBytes = 1024;
const maxEncodedBytes = 4096;
const maxTupleLength = 16;
const utf8 = new TextEncoder();
const compositeTag = utf8.encode("eve-memory-composite-v1\0");

/**
 * What a provider sees as `memory.scope.key`: `memscope1_` and 43 characters. Nothing is trimmed, case-folded or
 * normalised. Two inputs share a key only where they differ in lone surrogates or U+FFFD, which UTF-8 cannot tell apart.
 * @throws MemoryError `invalid_scope` for a blank or over-long part (1,024 bytes each, 16 parts, 4,096 bytes encoded).
 */
export function scopeKey(input: { readonly namespace: string; readonly scope: string | readonly string[] }): string {
  const namespace = namespaceParts(input.namespace);
  const scope = encodeScope(input.scope);
  if (namespace.encodedBytes + scope.length > maxEncodedBytes) {
    throw new MemoryError("invalid_scope", `Namespace and scope together exceed ${maxEncodedBytes} encoded bytes.`);
  }
  const parts = [namespace.key, `memscope1_${digest(scope)}`];
  return `memscope1_${digest(concat(compositeTag, ...parts.map(lengthPrefixed)))}`;
}

/** The key of a namespace alone: `memns1_` and 43 characters. */
export function namespaceKey(namespace: string): string {
  return namespaceParts(namespace).key;
}

/** The key of a scope value alone, without its namespace. Providers never see it; {@link scopeKey} is theirs. */
export function scopeValueKey(scope: string | readonly string[]): string {
  return `memscope1_${digest(encodeScope(scope))}`;
}

/** The key of a recalled message's id: `memitem1_` and 43 characters. */
export function itemKey(id: string): string {
  return `memitem1_${digest(scalar("item", id))}`;
}

/** SHA-256 of a text's UTF-8, as 43 characters of unpadded base64url. */
export function textDigest(text: string): string {
  return digest(utf8.encode(text));
}

/** SHA-256 of a list of texts, each length-prefixed, so that no two lists share one by concatenation. */
export function listDigest(texts: readonly string[]): string {
  return digest(concat(...texts.map(lengthPrefixed)));
}

/**
 * The name under which a scope key's data is stored: lower-case hex, safe on any file system. A derived key gives its own
 * 64 digits; any other text is hashed to 66, so that the two never meet.
 * @throws MemoryError `invalid_scope` for a key that is not well-formed, non-blank text.
 */
export function storageName(key: string): string {
  assertScopeKey(key);
  const derived = derivedBytes(key);
  return derived === null ? `${hex(sha256(utf8.encode(key)))}00` : hex(derived);
}

/** Whether a key is of the form that {@link scopeKey} derives: any other is a host's or a person's own. */
export function isDerivedScopeKey(key: unknown): boolean {
  return typeof key === "string" && derivedBytes(key) !== null;
}

/** The derived key that {@link storageName} made a name from, or `null` where it cannot be known. */
export function scopeKeyOfStorageName(name: string): string | null {
  if (!/^[0-9a-f]{64}$/.test(name)) return null;
  const bytes = Uint8Array.from(name.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
  return `memscope1_${base64url(bytes)}`;
}

/**
 * Refuses a scope key that could stand for nothing, or for two things.
 * @throws MemoryError `invalid_scope`
 */
export function assertScopeKey(key: unknown): asserts key is string {
  if (typeof key !== "string" || key.trim() === "" || !key.isWellFormed()) {
    throw new MemoryError("invalid_scope", "A scope key must be well-formed text that is not blank.");
  }
}

/** Namespaces are few, and each is asked for again with every scope. */
const recentNamespaces = new Map<string, { readonly key: string; readonly encodedBytes: number }>();

function namespaceParts(namespace: string): { readonly key: string; readonly encodedBytes: number } {
  const recent = recentNamespaces.get(namespace);
  if (recent !== undefined) return recent;
  const encoded = encodeNamespace(namespace);
  const parts = { key: `memns1_${digest(encoded)}`, encodedBytes: encoded.length };
  setBounded(recentNamespaces, namespace, parts, 100);
  return parts;
}

function encodeNamespace(namespace: unknown): Uint8Array {
  if (typeof namespace !== "string" || namespace.trim() === "") {
    throw new MemoryError("invalid_scope", "A namespace must be text that is not blank.");
  }
  if (utf8.encode(namespace).length > maxPartBytes) {
    throw new MemoryError("invalid_scope", `A namespace may have at most ${maxPartBytes} UTF-8 bytes.`);
  }
  return scalar("namespace", namespace);
}

function encodeScope(scope: unknown): Uint8Array {
  const parts: readonly unknown[] = Array.isArray(scope) ? Array.from(scope) : [scope]; // holes become parts to refuse
  if (parts.length > maxTupleLength) {
    throw new MemoryError("invalid_scope", `A scope tuple may have at most ${maxTupleLength} parts.`);
  }
  if (parts.length === 0) throw new MemoryError("invalid_scope", "A scope tuple must have at least one part.");
  const texts = parts.map((part, index) => {
    if (typeof part !== "string" || part.trim() === "") {
      throw new MemoryError("invalid_scope", `Scope part ${index} must be text that is not blank.`);
    }
    if (utf8.encode(part).length > maxPartBytes) {
      throw new MemoryError("invalid_scope", `Scope part ${index} may have at most ${maxPartBytes} UTF-8 bytes.`);
    }
    return part;
  });
  if (!Array.isArray(scope)) return scalar("scope-scalar", texts[0] ?? "");
  return concat(utf8.encode("scope-tuple-v1\0"), uint32(texts.length), ...texts.map(lengthPrefixed));
}

function scalar(tag: string, text: string): Uint8Array {
  return concat(utf8.encode(`${tag}-v1\0`), lengthPrefixed(text));
}

function lengthPrefixed(text: string): Uint8Array {
  const bytes = utf8.encode(text);
  return concat(uint32(bytes.length), bytes);
}

function uint32(value: number): Uint8Array {
  return Uint8Array.of(value >>> 24, value >>> 16, value >>> 8, value);
}

function concat(...parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let position = 0;
  for (const part of parts) {
    whole.set(part, position);
    position += part.length;
  }
  return whole;
}

function digest(bytes: Uint8Array): string {
  return base64url(sha256(bytes));
}

const base64urlAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/** Without padding. */
function base64url(bytes: Uint8Array): string {
  let text = "";
  for (let index = 0; index < bytes.length; index += 3) {
    const triple = ((bytes[index] ?? 0) << 16) | ((bytes[index + 1] ?? 0) << 8) | (bytes[index + 2] ?? 0);
    const characters = Math.min(bytes.length - index, 3) + 1; // n bytes are n + 1 characters
    for (let place = 0; place < characters; place += 1) text += base64urlAlphabet[(triple >> (18 - 6 * place)) & 63];
  }
  return text;
}

/** The digest inside a derived key, or `null`. The last of 43 characters holds four bits: other spellings are not ours. */
function derivedBytes(key: string): Uint8Array | null {
  const encoded = /^memscope1_([A-Za-z0-9_-]{43})$/.exec(key)?.[1];
  if (encoded === undefined) return null;
  const binary = atob(encoded.replace(/-/g, "+").replace(/_/g, "/"));
  const bytes = Uint8Array.from(binary, (character) => character.charCodeAt(0));
  return base64url(bytes) === encoded ? bytes : null;
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
