/** Refuses to write into the file that is read, or by two names into one: opening a file to write empties it. */
import { existsSync, fstatSync, statSync } from "node:fs";
import { resolve } from "node:path";

/** Paths, or numbers of open files. */
interface Ends {
  readonly input: string | number | undefined;
  readonly output: string | number | undefined;
}

type Outputs = Readonly<Partial<Record<"out" | "bad" | "losses", string | undefined>>>;

/** Throws an `Error` for people, also if the input does not exist. */
export function refuseSameFiles({ input, output }: Ends, outputs: Outputs): void {
  const known = new Map<string, string>();
  const source = input === undefined ? undefined : identify(input);
  if (source !== undefined) known.set(source, "the input");
  const target = output === undefined ? undefined : identify(output);
  // With --out, the standard output gets nothing.
  if (target !== undefined && outputs.out === undefined) {
    if (known.has(target)) throw new TypeError("The standard output: is the input itself.");
    known.set(target, "the standard output");
  }
  for (const name of ["out", "bad", "losses"] as const) {
    const path = outputs[name];
    const id = path === undefined ? undefined : identifyOutput(path);
    if (path === undefined || id === undefined) continue;
    const same = known.get(id);
    if (same !== undefined) throw new TypeError(`--${name} ${path}: is the same file as ${same}.`);
    known.set(id, `--${name}`);
  }
}

/** Device and inode. Undefined: it is no regular file. */
function identify(file: string | number): string | undefined {
  const options = { bigint: true } as const;
  const found = typeof file === "number" ? fstatSync(file, options) : statSync(file, options);
  return found.isFile() ? `${found.dev}:${found.ino}` : undefined;
}

function identifyOutput(path: string): string | undefined {
  return existsSync(path) ? identify(path) : resolve(path);
}
