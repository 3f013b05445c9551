/** Who is calling, as the application's authentication says. A mistake here would open the wrong person's memory. */
import { MemoryError, type Principal } from "@keepsake/core";
import { frozenCopy } from "./frozen-copy.ts";

/**
 * The caller, checked and frozen, or `null` for nobody.
 * @throws MemoryError `invalid_input` for anything that is neither.
 */
export function checkPrincipal(auth: unknown): Principal | null {
  if (auth === null) return null;
  const text = (name: string): boolean => typeof Reflect.get(Object(auth), name) === "string";
  const optionalText = (name: string): boolean => Reflect.get(Object(auth), name) === undefined || text(name);
  const attributes: unknown = Reflect.get(Object(auth), "attributes");
  const isPrincipal =
    ["principalType", "authenticator", "principalId"].every(text) &&
    ["issuer", "subject"].every(optionalText) &&
    typeof attributes === "object" &&
    attributes !== null;
  if (!isPrincipal) {
    throw new MemoryError(
      "invalid_input",
      "auth must be null or a caller with principalType, authenticator, principalId and attributes.",
    );
  }
  return frozenCopy(auth as Principal);
}
