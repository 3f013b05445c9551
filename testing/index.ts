/** What the tests of several packages share: an agent on the real eve, and a model that is a script. Never published. */
export { EveAgent } from "./eve-agent.ts";
export { type EveContext, eve } from "./eve-internals.ts";
export { type Prompt, type Reply, scriptedModel } from "./scripted-model.ts";
