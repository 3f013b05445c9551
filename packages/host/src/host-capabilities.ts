/** What only some hosts can give a provider: a sandbox, tokens, a sign-in. Absent ones throw `unsupported`. */
import { MemoryError, type MemoryToolContext } from "@keepsake/core";

export type HostCapabilities = Pick<MemoryToolContext, "getSandbox" | "getToken" | "requireAuth">;

export function hostCapabilities(given: Partial<HostCapabilities>): HostCapabilities {
  const unsupported = (name: string): MemoryError =>
    new MemoryError("unsupported", `This host has no ${name}(). Give createMemoryHost() one to use it.`);
  return {
    getSandbox: given.getSandbox ?? (() => Promise.reject(unsupported("getSandbox"))),
    getToken: given.getToken ?? (() => Promise.reject(unsupported("getToken"))),
    requireAuth:
      given.requireAuth ??
      (() => {
        throw unsupported("requireAuth");
      }),
  };
}
