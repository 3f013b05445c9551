/** Sessions of a realistic length, each of a user who was never seen before. */
import type { ModelMessage, Principal } from "@keepsake/core";
import type { System } from "./system.ts";

export const turnsPerSession = 20;

let users = 0;

/** Plays whole sessions, one after another. */
export async function playSessions(openSession: System, count: number, texts: readonly string[]): Promise<void> {
  for (let index = 0; index < count; index += 1) await playSession(openSession, texts);
}

async function playSession(openSession: System, texts: readonly string[]): Promise<void> {
  const session = openSession(newUser());
  for (let turn = 0; turn < turnsPerSession; turn += 1) {
    const { messages } = await session.startTurn(texts[(users + turn) % texts.length] ?? "");
    if (messages.length !== 2 * turn + 1) throw new Error(`The model was shown ${messages.length} messages.`);
    await session.completeTurn(answer());
  }
  await session.end?.();
}

function newUser(): Principal {
  users += 1;
  return { principalType: "user", authenticator: "bench", principalId: `user-${users}`, attributes: {} };
}

function answer(): ModelMessage {
  return { role: "assistant", content: "That is good to know. Is there anything else that you want to tell me today?" };
}
