/** What everyone of one company shares. A caller without a company has no such memory; it never widens to everybody. */
import { byTenant } from "@keepsake/core/scope";
import { fileMemory } from "@keepsake/file";
import { defineMemory } from "eve/memory";

export default defineMemory({
  description: "What the whole company should know. All colleagues of the person you talk to are shown it.",
  provider: fileMemory(),
  scope: byTenant("company"),
  namespace: "keepsake-eve-agent/team", // another one than the profile's: two slots must never reach the same memory
});
