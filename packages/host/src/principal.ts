/** Who is calling, as the application's authentication says. A mistake here would open the wrong person's memory. */
import { MemoryError, type Principal } from "@keepsake/core";
import { canonicalJson } from "./canonical-json.ts";
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

/** Whether two are the same caller, with the same rights: an attribute may decide whose memory is reached. */
export function isSameCaller(a: Principal | null, b: Principal | null): boolean {
  return canonicalJson(a) === canonicalJson(b);
}
