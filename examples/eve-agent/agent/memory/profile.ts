/** What the agent knows about one person. The scope is who is signed in; the model never chooses it. */
import { byPrincipal } from "@keepsake/core/scope";
import { fileMemory } from "@keepsake/file";
import { defineMemory } from "eve/memory";

export default defineMemory({
  description: "Lasting facts and preferences of the person you talk to. Only this person is shown them.",
  provider: fileMemory(),
  scope: byPrincipal,
  // Given, because eve's default changes with every rebuild in `eve dev`: what was saved before would be out of reach.
  namespace: "keepsake-eve-agent/profile",
});
