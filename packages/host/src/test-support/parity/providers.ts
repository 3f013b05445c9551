/** Section 11 of the reference, and ours: whole providers in both hosts. */
import { byPrincipal } from "@keepsake/core/scope";
import { fileMemory, inMemory } from "@keepsake/file";
import { fileMemory as evesFileMemory, inMemory as evesInMemory } from "eve/memory/file";
import { ann, ben, type ParityScript, type Scene } from "./script.ts";

const conversation: Scene["play"] = async (agent) => {
  await agent.turn('call profile__save_memory {"text":"likes tea"}', { as: ann });
  await agent.turn('call profile__save_memory {"text":"likes  tea\\n"}', { as: ann });
  await agent.turn("hello", { as: ben });
  await agent.turn('call profile__save_memory {"text":"likes coffee"}', { as: ben });
  await agent.turn('call profile__save_memory {"text":"   "}', { as: ann });
  await agent.turn('call profile__remove_memory {"index":0}', { as: ann });
  await agent.turn('call profile__remove_memory {"index":0}', { as: ann });
  await agent.turn("hello", { as: null });
  await agent.turn("hello", { as: ann });
  await agent.clear();
  await agent.turn("hello", { as: ben });
  await agent.turn("hello", { as: ben, compact: true });
};

const profile = { namespace: "app", scope: byPrincipal, description: "Facts about the caller." };

export const providers: readonly ParityScript[] = [
  {
    clause: "11.11",
    title: "eve's file memory",
    scene: () => ({
      slots: { profile: { ...profile, provider: evesFileMemory({ backend: evesInMemory() }) as never } },
      play: conversation,
    }),
  },
  {
    clause: "11.11",
    title: "our file memory",
    scene: () => ({
      slots: { profile: { ...profile, provider: fileMemory({ backend: inMemory() }) } },
      play: conversation,
    }),
  },
];
