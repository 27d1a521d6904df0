/** Failures of reading or writing a file, in a sentence. Undefined for others. */
export function explainFile(error: unknown, path?: string): string | undefined {
  if (!(error instanceof Error) || !("code" in error)) return undefined;
  // Reading a folder fails without naming it.
  const own = "path" in error && typeof error.path === "string" ? error.path : "The input";
  const file = path ?? own;
  switch (error.code) {
    case "ENOENT":
      return `${file}: there is no such file.`;
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
