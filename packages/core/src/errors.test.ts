import { readFileSync } from "node:fs";
import { inspect } from "node:util";
import { MemoryDocumentConflictError as EveConflict } from "eve/memory/file";
import { describe, expect, it, vi } from "vitest";
import designed from "../../../design/error-codes.json" with { type: "json" };
import { MemoryDocumentConflictError } from "./document-backend.ts";
import { isRetryable, MemoryError, memoryErrorCodes, sanitizeCause } from "./errors.ts";

const pin = "pin 4711";

async function secondCopy() {
  vi.resetModules();
  return { ...(await import("./errors.ts")), ...(await import("./document-backend.ts")) };
}

describe("MemoryError", () => {
  it("says what happened and whether to try again", () => {
    const error = new MemoryError("timeout", "No answer.", { retryable: true, slot: "notes", ruleIds: ["pem"] });
    expect(error).toMatchObject({
      name: "MemoryError",
      code: "timeout",
      retryable: true,
      slot: "notes",
      ruleIds: ["pem"],
    });
    expect(error).toBeInstanceOf(Error);
    expect(error.message).toBe("No answer.");
  });

  it("has no field that it was not given", () => {
    const error = new MemoryError("timeout", "No answer.");
    expect(error.retryable).toBe(false);
    for (const field of ["cause", "slot", "ruleIds"]) expect(Object.hasOwn(error, field)).toBe(false);
  });

  it("is known to another copy of the package, and the other way round", async () => {
    const copy = await secondCopy();
    const [ours, theirs] = [new MemoryError("timeout", "x"), new copy.MemoryError("timeout", "x")];
    expect(theirs).not.toBeInstanceOf(MemoryError);
    expect([MemoryError.isInstance(theirs), copy.MemoryError.isInstance(ours)]).toEqual([true, true]);
    const copied = Object.assign(new Error("x"), { name: "MemoryError", code: "timeout", retryable: false });
    for (const other of [copied, null, undefined, "MemoryError", {}]) expect(MemoryError.isInstance(other)).toBe(false);
  });

  it("asks nothing of a value that throws when looked at", () => {
    const revocable = Proxy.revocable({}, {});
    revocable.revoke();
    expect(MemoryError.isInstance(revocable.proxy)).toBe(false);
  });

  it("keeps of its cause the name, code and status, and not a word", () => {
    const request = { body: pin, headers: { authorization: pin } };
    const cause = Object.assign(new TypeError(pin, { cause: pin }), { code: "ECONNRESET", status: 503, request });
    const error = new MemoryError("backend_failed", "The store did not answer.", { cause });
    expect(error.cause).toEqual({ name: "TypeError", code: "ECONNRESET", status: 503 });
    for (const text of [inspect(error, { depth: 9, showHidden: true }), JSON.stringify(error), error.stack]) {
      expect(text).toMatch(/did not answer|backend_failed/);
      expect(text).not.toContain("4711");
    }
  });
});

describe("isRetryable", () => {
  it("believes errors of any copy of the package, and nothing else", () => {
    expect(isRetryable(new MemoryError("conflict", "Again.", { retryable: true }))).toBe(true);
    expect(isRetryable(new MemoryError("conflict", "Never."))).toBe(false);
    expect(isRetryable(Object.assign(new Error("mine"), { retryable: true }))).toBe(false);
    const hostile = Object.defineProperty(new MemoryError("conflict", "No."), "retryable", {
      get: () => {
        throw new Error("unreadable");
      },
    });
    expect(isRetryable(hostile)).toBe(false);
  });
});

describe("sanitizeCause", () => {
  const hostile = {
    get name(): never {
      throw new Error(pin);
    },
    get code(): never {
      throw new Error(pin);
    },
    statusCode: 404,
  };

  it.each<[string, unknown, object]>([
    ["an error", new RangeError(pin), { name: "RangeError" }],
    ["a status under its other name", { name: "HttpError", statusCode: 429 }, { name: "HttpError", status: 429 }],
    ["a system's code", { name: "Error", code: "ECONNRESET" }, { name: "Error", code: "ECONNRESET" }],
    [
      "a library's code",
      { name: "FetchError", code: "UND_ERR_SOCKET" },
      { name: "FetchError", code: "UND_ERR_SOCKET" },
    ],
    ["a service's code", { name: "Error", code: "rate_limited" }, { name: "Error", code: "rate_limited" }],
    ["a number as code", { name: "MongoError", code: 11000, status: "503" }, { name: "MongoError" }],
    ["a name that is a person's", { name: "ann.lee", code: "ann.lee" }, { name: "Error" }],
    [
      "a name that is a key",
      { name: "sk-ant-api03-abcdef1234567890", code: "AKIA2E0A8F3B244C9986" },
      { name: "Error" },
    ],
    ["a name that is a sentence", { name: pin, code: `E ${pin}` }, { name: "Error" }],
    ["a name that is long", { name: "x".repeat(65), code: "x".repeat(65) }, { name: "Error" }],
    ["a name of another kind", { name: 4711, code: [pin] }, { name: "Error" }],
    ["getters that throw", hostile, { name: "Error", status: 404 }],
    ["a proxy that answers nothing", new Proxy({}, { get: () => hostile.name }), { name: "Error" }],
    ["a text", pin, { name: "string" }],
    ["nothing", undefined, { name: "undefined" }],
    ["null", null, { name: "object" }],
  ])("of %s", (_, cause, kept) => {
    expect(sanitizeCause(cause)).toEqual(kept);
  });
});

describe("MemoryDocumentConflictError", () => {
  it("is a conflict worth trying again", () => {
    const error = new MemoryDocumentConflictError("ann.lee");
    expect(error).toMatchObject({
      name: "MemoryDocumentConflictError",
      code: "conflict",
      retryable: true,
      key: "ann.lee",
    });
    expect(MemoryError.isInstance(error)).toBe(true);
  });

  it("is known to eve and to another copy of the package, as theirs are to us", async () => {
    const copy = await secondCopy();
    const ours = new MemoryDocumentConflictError("k");
    expect([EveConflict.is(ours), copy.MemoryDocumentConflictError.isInstance(ours)]).toEqual([true, true]);
    for (const other of [new EveConflict("k"), new copy.MemoryDocumentConflictError("k")]) {
      expect(other).not.toBeInstanceOf(MemoryDocumentConflictError);
      expect(MemoryDocumentConflictError.isInstance(other)).toBe(true);
    }
    for (const other of [new MemoryError("conflict", "x"), { name: "MemoryDocumentConflictError" }, null, "k"]) {
      expect(MemoryDocumentConflictError.isInstance(other)).toBe(false);
    }
  });

  it("does not show the key, which may be a person's name", () => {
    const error = new MemoryDocumentConflictError("ann.lee");
    expect(error.key).toBe("ann.lee");
    for (const text of [
      inspect(error),
      JSON.stringify(error),
      JSON.stringify({ ...error }),
      String(error),
      error.stack,
    ]) {
      expect(text).toMatch(/conflict/i);
      expect(text).not.toContain("ann.lee");
    }
  });
});

it("design/error-codes.json lists every code, and no other", () => {
  expect(memoryErrorCodes).toContain("timeout");
  expect(Object.keys(designed.codes).toSorted()).toEqual(memoryErrorCodes.toSorted());
});

it("the README says what each code means, in the same words", () => {
  const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
  for (const [code, { meaning }] of Object.entries(designed.codes))
    expect(readme).toContain(`| \`${code}\` | ${meaning} |`);
});
