export { inMemoryDocuments as inMemory, type MemoryDocumentBackend, MemoryDocumentConflictError } from "@keepsake/core";
export { homeVariable } from "./backends/default.ts";
export { type DirectoryOptions, directory } from "./backends/directory.ts";
export type { FileSystem } from "./backends/file-system.ts";
export { type VercelBlobOptions, vercelBlob } from "./backends/vercel-blob.ts";
export { fileMemory, type RemoveResult, type SaveResult } from "./file-memory.ts";
export type { FileMemoryOptions } from "./options.ts";
