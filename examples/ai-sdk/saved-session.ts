/** A conversation's state in a file, so that the next process goes on with it. */
import { randomUUID } from "node:crypto";
import { mkdir, open, readFile, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { MemoryError, type Principal } from "@keepsake/core";
import type { MemoryHost, MemorySession, SessionState } from "@keepsake/host";

export interface OpenedSession {
  readonly session: MemorySession;
  /** Where a file was moved that holds no conversation. Nothing of it is lost, and a new session was begun. */
  readonly setAside?: string;
}

/**
 * The saved session, or a new one where none is saved.
 * @throws Error when there is a file that cannot be read.
 */
export async function openSession(host: MemoryHost, auth: Principal, file: string): Promise<OpenedSession> {
  const text = await readText(file);
  if (text === undefined) return { session: host.session({ auth }) };
  try {
    const state: SessionState = JSON.parse(text); // the host checks what it is given
    return { session: host.session({ auth, state }) };
  } catch (error) {
    if (!(error instanceof SyntaxError || MemoryError.isInstance(error))) throw error;
    const setAside = `${file}.damaged-${randomUUID().slice(0, 8)}`;
    await rename(file, setAside);
    return { session: host.session({ auth }), setAside };
  }
}

/** Replaces the file whole, so that a process that dies leaves the old state or the new one. For its owner's eyes only. */
export async function saveSession(state: SessionState, file: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const temporary = `${file}.${randomUUID()}.tmp`;
  try {
    const handle = await open(temporary, "wx", 0o600);
    try {
      await handle.writeFile(JSON.stringify(state));
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, file);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

async function readText(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "ENOENT") return undefined;
    throw new Error(`The conversation in ${file} cannot be read: ${code}.`);
  }
}
