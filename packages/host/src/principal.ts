/** Who is calling, as the application's authentication says. A mistake here would open the wrong person's memory. */
import { MemoryError, type Principal } from "@keepsake/core";
import { readPrincipal } from "./schemas.ts";

/**
 * The caller, checked and frozen, or `null` for nobody.
 * @throws MemoryError `invalid_input` for anything that is neither.
 */
export function checkPrincipal(auth: unknown): Principal | null {
  if (auth === null) return null;
  const principal = readPrincipal(auth);
  if (principal !== undefined) return principal;
  throw new MemoryError(
    "invalid_input",
    "auth must be null or a caller with principalType, authenticator, principalId, and attributes of texts.",
  );
}

/** Whether two are the same caller. What else is known of one may change overnight. */
export function isSamePerson(a: Principal | null, b: Principal | null): boolean {
  const identity = (caller: Principal | null) =>
    caller && [caller.principalType, caller.authenticator, caller.issuer ?? null, caller.principalId];
  return JSON.stringify(identity(a)) === JSON.stringify(identity(b));
}
