/** The file operations that the directory backend needs: Node's own, or a stand-in that fails on purpose. */
export type FileSystem = Pick<
  typeof import("node:fs/promises"),
  "link" | "mkdir" | "open" | "readdir" | "readFile" | "rename" | "unlink" | "writeFile"
>;

/** Whether an error carries one of these system codes. */
export function hasCode(error: unknown, ...codes: readonly string[]): boolean {
  return typeof error === "object" && error !== null && codes.includes(String(Reflect.get(error, "code")));
}

/** Removes a file that may be gone already. */
export async function unlinkIfThere(files: FileSystem, path: string): Promise<void> {
  try {
    await files.unlink(path);
  } catch (error) {
    if (!hasCode(error, "ENOENT")) throw error;
  }
}

/** Makes a folder's entries outlive a power failure. Where folders cannot be opened (Windows), the system does it. */
export async function syncFolder(files: FileSystem, path: string): Promise<void> {
  let folder: Awaited<ReturnType<FileSystem["open"]>>;
  try {
    folder = await files.open(path, "r");
  } catch (error) {
    if (hasCode(error, "EISDIR", "EPERM", "EACCES")) return;
    throw error;
  }
  try {
    await folder.sync();
  } catch (error) {
    if (!hasCode(error, "EPERM", "EINVAL")) throw error;
  } finally {
    await folder.close();
  }
}
