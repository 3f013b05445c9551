/** Whether a check can be tried on a provider, and in whose words not. */
import type { Check, Need } from "./check.ts";
import type { Facts } from "./drive/facts.ts";
import type { CheckResult } from "./result.ts";

/** Roles that nobody plays although there is somebody who might: the subject has to say, so that no path goes untried. */
const unclear: Partial<Readonly<Record<Need, (facts: Facts) => boolean>>> = {
  "search-tool": ({ searchTool, unusedTools }) => searchTool === undefined && unusedTools.length > 0,
  "forget-tool": ({ forgetTool, unusedTools }) => forgetTool === undefined && unusedTools.length > 0,
};

const lacks: Readonly<Record<Need, (facts: Facts) => string | undefined>> = {
  capture: ({ captures, declared }) => (captures && declared.capture !== "none" ? undefined : "It does not capture."),
  tools: ({ tools }) => (tools.length > 0 ? undefined : "It offers no tools."),
  "save-tool": ({ saveTool }) => (saveTool === undefined ? "No tool that saves was found (tools.save)." : undefined),
  "search-tool": ({ searchTool }) =>
    searchTool === undefined ? "No tool that searches was found (tools.search)." : undefined,
  "forget-tool": ({ forgetTool }) =>
    forgetTool === undefined ? "No tool that forgets was found (tools.forget)." : undefined,
  maintenance: ({ maintenance }) => (maintenance ? undefined : "It declares no maintenance."),
  erase: ({ maintenance, capabilities: { erase } }) =>
    maintenance && erase !== undefined && erase !== "none" ? undefined : "It does not declare that it erases.",
  ttl: ({ capabilities: { ttl } }) =>
    ttl === undefined || ttl === "none" ? "It does not declare that memories expire." : undefined,
  durable: ({ capabilities: { durable } }) =>
    durable === true ? undefined : "Its memory does not outlive the process.",
  replay: ({ declared: { replay } }) => (replay === "none" ? "It declares that it does not replay." : undefined),
  current: ({ capabilities: { freshness } }) =>
    freshness === "current" ? undefined : "It is one turn behind, as declared.",
  backend: ({ backend }) => (backend === "none" ? "It stands on nothing outside its process." : undefined),
  "provider-time": () => undefined,
  "invalid-options": ({ invalidOptions = 0 }) =>
    invalidOptions > 0 ? undefined : "The subject lists no options to be refused (invalidOptions).",
};

/** What ends the check before it is tried; `undefined` where nothing is missing. */
export function missing(
  { needs }: Check,
  facts: Facts,
): (Pick<CheckResult, "state"> & { readonly saw: string }) | undefined {
  for (const need of needs) {
    if (unclear[need]?.(facts) === true && facts.settledTools?.includes(need) !== true) {
      const role = need.replace("-tool", "");
      const saw = `Does one of its tools ${role}: ${facts.unusedTools.join(", ")}? Name it (tools.${role}), or say "none".`;
      return { state: "untestable", saw };
    }
    const saw = lacks[need](facts);
    if (saw !== undefined) return { state: "not-applicable", saw };
  }
  if (needs.includes("provider-time") && facts.time === "real") {
    return { state: "advisory", saw: "Not tried: its time is real and cannot be moved." };
  }
  return undefined;
}
