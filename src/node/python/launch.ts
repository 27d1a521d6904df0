/** The command of an interpreter's process: program, permissions and limits. */
import { createRequire } from "node:module";
import { existsSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { moduleBeside } from "../module-beside.ts";
import type { HostOptions } from "./protocol.ts";

/** A program and its arguments, before the host's options. */
export interface Launch {
  readonly command: string;
  /** `readable`: paths that the process may read in addition to Pyodide. */
  readonly toArguments: (options: HostOptions, readable: readonly string[]) => readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** Part of the key of a snapshot. */
  readonly identity: string;
}

const PAGE_BYTES = 65_536;

/** Deno with permission to read Pyodide only: no network, no processes, no environment, no other files. */
export function launchDeno(deno: string, memoryBytes: number): Launch {
  const v8 = v8Flags(memoryBytes);
  return {
    command: deno,
    toArguments: (options, readable) => [
      "run",
      "--no-prompt",
      "--no-remote",
      "--no-npm",
      "--no-config",
      `--v8-flags=${v8.join(",")}`,
      `--allow-read=${[options.pyodideFolder, ...readable].map(escapeComma).join(",")}`,
      HOST,
      JSON.stringify(options),
    ],
    // Deno would store caches and local storage there. Code could fill these folders, and they would remain after the process.
    // Nothing can be created below a file, not even by root.
    environment: { DENO_DIR: NOWHERE, TMPDIR: NOWHERE, DENO_NO_UPDATE_CHECK: "1", NO_COLOR: "1" },
    identity: v8.join(","),
  };
}

/** Node does not isolate: the code can open files, make connections and start processes with the gateway's permissions. */
export function launchUnsafeNode(memoryBytes: number): Launch {
  const v8 = v8Flags(memoryBytes);
  return {
    command: process.execPath,
    toArguments: (options) => [...v8, HOST, JSON.stringify(options)],
    environment: {},
    identity: `node,${v8.join(",")}`,
  };
}

/** The program that runs in the process. */
const HOST = fileURLToPath(moduleBeside(import.meta.url, "host"));

const NOWHERE = join(HOST, "nowhere");

/** JavaScript's own heap is small: Python's objects are in WebAssembly's memory. */
function v8Flags(memoryBytes: number): string[] {
  const pages = Math.floor(memoryBytes / PAGE_BYTES);
  return [`--wasm-max-mem-pages=${pages}`, "--max-old-space-size=256"];
}

function escapeComma(path: string): string {
  return path.replaceAll(",", ",,");
}

/** Path of the binary of the npm package `deno`, or of the `deno` in PATH. Undefined: there is no Deno. */
export function findDeno(searchPath = process.env["PATH"] ?? ""): string | undefined {
  const name = process.platform === "win32" ? "deno.exe" : "deno";
  const libc = process.platform === "linux" ? "-glibc" : "";
  const packaged = findPackage(
    `@deno/${process.platform}-${process.arch}${libc}`,
    findPackage("deno"),
  );
  const candidates = [
    ...(packaged === undefined ? [] : [join(packaged, name)]),
    ...searchPath.split(delimiter).flatMap((folder) => (folder === "" ? [] : [join(folder, name)])),
  ];
  return candidates.find((path) => existsSync(path));
}

/** Folder of an npm package. Undefined: the package is not installed. */
export function findPackage(name: string, from: string = dirname(HOST)): string | undefined {
  try {
    const require = createRequire(join(from, "package.json"));
    return dirname(require.resolve(`${name}/package.json`));
  } catch {
    return undefined;
  }
}
