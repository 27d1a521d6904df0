/**
 * Caches a snapshot of a freshly started interpreter: a start from it takes an eighth of the time. The snapshot is made once per
 * version of Pyodide and of its runtime, and its hash is checked whenever the gateway starts.
 */
import { createHash, randomUUID } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";

export interface SnapshotOptions {
  readonly folder: string;
  /** Files on which the snapshot depends. */
  readonly inputs: readonly string[];
  /** Flags on which the snapshot depends. */
  readonly identity: string;
  readonly make: () => Promise<Buffer>;
}

/** Returns the path of a verified snapshot. */
export async function ensureSnapshot(options: SnapshotOptions): Promise<string> {
  const { folder } = options;
  const prefix = `snapshot-${await toKey(options)}-`;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const names = (await readdir(folder)).filter((name) => name.startsWith(prefix));
  for (const name of names.filter((each) => each.endsWith(ENDING))) {
    const path = join(folder, name);
    if (name === prefix + hash(await readFile(path)) + ENDING) return path;
    await rm(path, { force: true });
  }
  const snapshot = await options.make();
  const path = join(folder, prefix + hash(snapshot) + ENDING);
  const unfinished = join(folder, `${prefix}${randomUUID()}.part`);
  try {
    await writeFile(unfinished, snapshot, { mode: 0o600 });
    await rename(unfinished, path);
  } finally {
    // On a full disk each start would leave another partial file.
    await rm(unfinished, { force: true });
  }
  return path;
}

const ENDING = ".bin";

/** Key of the snapshot, from sizes and modification times instead of contents: the programs have a hundred megabytes. */
async function toKey({ inputs, identity }: SnapshotOptions): Promise<string> {
  const stats = await Promise.all(inputs.map((path) => stat(path)));
  const marks = stats.map(({ size, mtimeMs }, index) => [inputs[index], size, mtimeMs]);
  return hash(JSON.stringify([marks, identity])).slice(0, 16);
}

function hash(data: Buffer | string): string {
  return createHash("sha256").update(data).digest("hex");
}
