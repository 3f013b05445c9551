/** How a person stops a call, and how one tells that it ended by that. */

/** What a check aborts with. */
export const abortReason: DOMException = new DOMException("The turn was cancelled.", "TurnCancelled");

/** The reason itself, an AbortError, or an error that names one of them as its cause. */
export function isAbort(error: unknown, depth = 0): boolean {
  if (error === abortReason) return true;
  const { name, code, cause } = Object(error);
  return (
    name === "AbortError" || code === "ABORT_ERR" || (cause !== undefined && depth < 5 && isAbort(cause, depth + 1))
  );
}
