/** Maps SQLite's errors to the store's. */
import type { Fault, Problem } from "./protocol.ts";

/** Faults by SQLite's primary result codes. */
const FAULTS: Readonly<Record<number, Fault & { readonly mayPass: boolean }>> = {
  3: { code: "PERM", message: "this user may not read or write it", mayPass: false },
  5: { code: "BUSY", message: "another program has locked it", mayPass: true },
  6: { code: "BUSY", message: "another program has locked it", mayPass: true },
  8: { code: "READONLY", message: "it cannot be written", mayPass: false },
  10: { code: "IOERR", message: "the disk reports an error", mayPass: true },
  11: { code: "CORRUPT", message: "it is damaged", mayPass: false },
  13: { code: "FULL", message: "there is no space left on its disk", mayPass: true },
  14: {
    code: "CANTOPEN",
    message: "it cannot be opened, or its folder cannot be written",
    mayPass: false,
  },
  18: { code: "TOOBIG", message: "the value is larger than SQLite takes", mayPass: false },
  26: { code: "NOTADB", message: "it is damaged, or no database", mayPass: false },
};

const UNKNOWN = { code: "ERROR", message: "SQLite reports an error", mayPass: false };

/** Undefined: the error is not SQLite's. */
export function toFault(error: unknown): (Fault & { readonly mayPass: boolean }) | undefined {
  if (!(error instanceof Error) || !("errcode" in error)) return undefined;
  return typeof error.errcode === "number" ? (FAULTS[error.errcode & 0xff] ?? UNKNOWN) : UNKNOWN;
}

/** Explains why a file cannot be opened. Undefined: the error is neither SQLite's nor the file system's. */
export function toProblem(error: unknown): Problem | undefined {
  if (error instanceof UnusableFile) return { says: error.message, mayPass: false };
  const fault = toFault(error);
  if (fault !== undefined) {
    const isDamaged = fault.code === "CORRUPT" || fault.code === "NOTADB";
    return { says: isDamaged ? DAMAGED : `${fault.message}.`, mayPass: fault.mayPass };
  }
  if (!(error instanceof Error) || !("code" in error)) return undefined;
  switch (error.code) {
    case "ENOENT":
      return { says: "the folder it would be in does not exist.", mayPass: false };
    case "ENOTDIR":
      return { says: "a part of the path is not a folder.", mayPass: false };
    case "EACCES":
    case "EPERM":
    case "EROFS":
      return { says: "this user may not write it.", mayPass: false };
    case "ENOSPC":
    case "EDQUOT":
      return { says: "there is no space left on its disk.", mayPass: true };
    default:
      return undefined;
  }
}

export const DAMAGED =
  "is damaged. Move it away, together with the files that end in -wal and -shm; the gateway then begins a new one.";

/** The file does not belong to this gateway. The message is a sentence that follows the path. */
export class UnusableFile extends Error {
  override readonly name = "UnusableFile";
}
