/** What a subject has to be. Apart from {@link defineSubject}, so that processes in which a provider runs start faster. */
import { z } from "zod";
import type { BackendFactory } from "../backend.ts";
import type { Subject, SubjectDefinition } from "./define.ts";

const isFunction = (value: unknown): boolean => typeof value === "function";
const toolUse = z.union([
  z.string().min(1),
  z.strictObject({ name: z.string().min(1), input: z.custom<never>(isFunction).optional() }),
]);
const definition = z.strictObject({
  name: z.string().min(1).optional(),
  create: z.custom<SubjectDefinition["create"]>(isFunction, "create must be a function"),
  backend: z.custom<BackendFactory | "none">(
    (value) => value === "none" || (typeof value === "object" && isFunction(Object(value).start)),
    'backend must be what directoryBackend(), httpBackend() or another answers, or "none"',
  ),
  time: z.enum(["injected", "global", "real"]),
  tools: z.strictObject({ save: toolUse, search: toolUse, forget: toolUse }).partial().optional(),
  writePath: z.enum(["capture", "tool"]).optional(),
  capabilities: z.record(z.string(), z.unknown()).optional(),
  invalidOptions: z.array(z.custom<() => unknown>(isFunction)).optional(),
  deviations: z
    .array(
      z.strictObject({
        check: z.string().min(1),
        reason: z.string().min(1),
        link: z.url(),
        expires: z.iso.date(),
      }),
    )
    .optional(),
});

/** @throws TypeError naming what is wrong. */
export function parseSubject(subject: unknown): Subject {
  const { success, error } = definition.safeParse(subject);
  if (!success) throw new TypeError(`This is no subject that can be judged.\n${z.prettifyError(error)}`);
  return subject as Subject; // checked above; what a function takes cannot be
}
