/** Answers that arrive a few bytes at a time, as they do over a slow network, so that letters and numbers are cut through. */
import { realTimers } from "../time/wait.ts";

/** Longer answers come in longer pieces: that an answer is in pieces is what counts. */
const mostPieces = 2_000;

/** Sends each piece in a turn of the event loop of its own, so that a client in this process reads it by itself. */
export async function inPieces(whole: Buffer, send: (piece: Buffer) => unknown): Promise<void> {
  const size = Math.ceil(whole.length / mostPieces);
  for (let at = 0; at < whole.length; at += size) {
    send(whole.subarray(at, at + size));
    await new Promise<void>((resolve) => void realTimers.setImmediate(resolve));
  }
}
