/** Keepsake's host, used as its README says. */
import { createMemoryHost } from "@keepsake/host";
import { slots } from "./slots.ts";
import type { System } from "./system.ts";

const host = createMemoryHost({ slots });

export const openSession: System = (user) => {
  const session = host.session({ auth: user });
  return {
    startTurn: (input) => session.startTurn(input),
    completeTurn: (answer) => session.completeTurn({ responseMessages: [answer] }),
  };
};
