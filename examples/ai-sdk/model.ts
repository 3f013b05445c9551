/** Which model answers: a script, or a real one by way of the AI Gateway. */
import type { LanguageModel } from "ai";
import { scriptedModel } from "./scripted-model.ts";

const defaultModel = "anthropic/claude-sonnet-5.5";

export interface ChosenModel {
  readonly model: LanguageModel;
  readonly description: string;
}

/**
 * @param named What `--model` says.
 * @param key The key of the AI Gateway, which the AI SDK reads by itself.
 * @throws Error that says what to set.
 */
export function chooseModel(named: string | undefined, key: string | undefined): ChosenModel {
  const hasKey = Boolean(key?.trim());
  if (named === "script" || (named === undefined && !hasKey)) {
    return { model: scriptedModel, description: "a script, which needs no key (AI_GATEWAY_API_KEY brings a real one)" };
  }
  const model = named ?? defaultModel;
  if (!/^[^/\s]+\/\S+$/.test(model)) throw new Error("--model needs PROVIDER/NAME, or script.");
  if (!hasKey) throw new Error(`--model ${model} needs a key: set AI_GATEWAY_API_KEY, or leave --model out.`);
  return { model, description: model };
}
