/** Failures of reading or writing a file or a folder, in a sentence. Undefined for others. */
import { existsSync } from "node:fs";
import { dirname } from "node:path";

export function explainFile(error: unknown, path?: string): string | undefined {
  if (!(error instanceof Error) || !("code" in error)) return undefined;
  // Reading a folder fails without naming it.
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
