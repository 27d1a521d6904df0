/** Reads a file that a user or an operator names, and explains failures of files and folders in a sentence. */
import { closeSync, constants, existsSync, fstatSync, openSync, readFileSync } from "node:fs";
import { dirname } from "node:path";

/**
 * Reads an ordinary file; links are followed. FIFOs and devices are not read: a FIFO would block the process until another one
 * writes to it, and a device may never end. Throws an error that {@link explainFile} explains.
 */
export function readOrdinaryFile(path: string, maxBytes: number): Buffer {
  // With this flag, opening a FIFO does not block.
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stat = fstatSync(file);
    if (!stat.isFile() && !stat.isDirectory()) throw new UnfitFile("is not an ordinary file");
    if (stat.size > maxBytes) {
      throw new UnfitFile(`is larger than ${maxBytes / 1_000_000} MB`);
    }
    return readFileSync(file);
  } finally {
    closeSync(file);
  }
}

/** A file that is not read. The message follows its name. */
class UnfitFile extends Error {
  override readonly name = "UnfitFile";
}

/** Undefined for other failures. */
export function explainFile(error: unknown, path?: string): string | undefined {
  if (error instanceof UnfitFile) return `${path ?? "The input"}: ${error.message}.`;
  if (!(error instanceof Error) || !("code" in error)) return undefined;
  // The error of reading a folder does not name it.
  const own = "path" in error && typeof error.path === "string" ? error.path : "The input";
  const file = path ?? own;
  switch (error.code) {
    case "ENOENT":
      return existsSync(dirname(file))
        ? `${file}: there is no such file.`
        : `${file}: there is no folder ${dirname(file)}.`;
    case "EEXIST":
      return `${file}: there is already a file with this name.`;
    case "EISDIR":
      return `${file}: is a folder, not a file.`;
    case "ENXIO":
      return `${file}: is not an ordinary file.`;
    case "ENOTDIR":
      return `${file}: a part of the path is not a folder.`;
    case "ENOSPC":
    case "EDQUOT":
      return `${file}: there is no space left to write it.`;
    case "EACCES":
    case "EPERM":
      return `${file}: this user may not read or write it.`;
    default:
      return undefined;
  }
}
