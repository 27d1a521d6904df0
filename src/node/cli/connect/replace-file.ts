/** Replaces the content of a file completely or not at all: a full disk or a crash loses none of the previous content. */
import {
  accessSync,
  chmodSync,
  chownSync,
  constants,
  mkdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";

/**
 * Creates a file readable by the user only, because it may hold a key. An existing file keeps its owner and mode, and a link
 * stays a link.
 */
export function replaceFile(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  const existing = statSync(path, { throwIfNoEntry: false });
  const file = existing === undefined ? path : realpathSync(path);
  const unfinished = `${file}.${process.pid}.new`;
  try {
    // Renaming would replace a read-only file too.
    if (existing !== undefined) accessSync(file, constants.W_OK);
    writeFileSync(unfinished, text, { mode: 0o600, flag: "wx", flush: true });
    if (existing !== undefined) {
      if (process.getuid?.() !== existing.uid) chownSync(unfinished, existing.uid, existing.gid);
      chmodSync(unfinished, existing.mode);
    }
    renameSync(unfinished, file);
  } catch (error) {
    rmSync(unfinished, { force: true });
    throw error;
  }
}
