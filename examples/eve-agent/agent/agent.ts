/** The agent: with the model in `EVE_MODEL`, or a script in its place, so that it runs without a key and a network. */
import { defineAgent } from "eve";
import { scriptedModel } from "./lib/scripted-model.ts";

export default defineAgent({
  model: process.env.EVE_MODEL || scriptedModel,
  defaultTools: false, // eve's own tools, such as a shell, have no part in this
});
