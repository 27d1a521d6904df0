/** How an interpreter's process is started: which program, with which rights and limits. */
import { createRequire } from "node:module";
import { existsSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { HostOptions } from "./protocol.ts";

/** A program and its arguments up to the host's options. */
export interface Launch {
  readonly command: string;
  /** `readable`: what the process may read besides Pyodide. */
  readonly toArguments: (options: HostOptions, readable: readonly string[]) => readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** Part of the key of a snapshot. */
  readonly identity: string;
}

export interface Limits {
  /** Of Python's memory. */
  readonly memoryBytes: number;
}

const PAGE_BYTES = 65_536;

/** Deno without any permission but to read Pyodide: no network, no processes, no environment, no other files. */
export function launchDeno(deno: string, { memoryBytes }: Limits): Launch {
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
    // Deno would keep caches and local storage there, which code may fill and which outlive it: below a file nothing can
    // be made, not even by root.
    environment: { DENO_DIR: NOWHERE, TMPDIR: NOWHERE, DENO_NO_UPDATE_CHECK: "1", NO_COLOR: "1" },
    identity: v8.join(","),
  };
}

/** Node isolates nothing: the code can open files, connect and start processes with the rights of the gateway. */
export function launchUnsafeNode({ memoryBytes }: Limits): Launch {
  const v8 = v8Flags(memoryBytes);
  return {
    command: process.execPath,
    toArguments: (options) => [...v8, HOST, JSON.stringify(options)],
    environment: {},
    identity: `node,${v8.join(",")}`,
  };
}

/** The program that runs in the process; it lies beside this file, compiled or not. */
const HOST = fileURLToPath(
  new URL(import.meta.url.endsWith(".ts") ? "./host.ts" : "./host.js", import.meta.url),
);

const NOWHERE = join(HOST, "nowhere");

/** JavaScript's own heap is small: what Python holds is in the memory of WebAssembly. */
function v8Flags(memoryBytes: number): string[] {
  const pages = Math.floor(memoryBytes / PAGE_BYTES);
  return [`--wasm-max-mem-pages=${pages}`, "--max-old-space-size=256"];
}

function escapeComma(path: string): string {
  return path.replaceAll(",", ",,");
}

/** The binary of the npm package `deno`, or the one in the path. Undefined: there is none. */
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

/** The folder of the npm package `pyodide`. Undefined: it is not installed. */
export function findPyodide(): string | undefined {
  return findPackage("pyodide");
}

function findPackage(name: string, from: string = dirname(HOST)): string | undefined {
  try {
    const require = createRequire(join(from, "package.json"));
    return dirname(require.resolve(`${name}/package.json`));
  } catch {
    return undefined;
  }
}
