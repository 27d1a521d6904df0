/**
 * Creates a folder before the tests for all temporary files, of the tests and of the programs that they start. It is
 * removed at the end.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

export async function setup(): Promise<() => Promise<void>> {
  const before = process.env["TMPDIR"];
  const folder = await mkdtemp(join(tmpdir(), "tests-"));
  process.env["TMPDIR"] = folder;
  return async () => {
    if (before === undefined) delete process.env["TMPDIR"];
    else process.env["TMPDIR"] = before;
    // A browser that has just been stopped may still write.
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  };
}
