/** Runs Python in processes beside the gateway: Pyodide in Deno, which isolates it, or in Node, which does not. */
import { existsSync, readdirSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import {
  FILE_LIMITS,
  type PythonOutcome,
  type PythonRuntime,
  type PythonSession,
} from "../../tools/python/runtime.ts";
import { type InterpreterOptions, makeSnapshot, startInterpreter } from "./interpreter.ts";
import { findDeno, findPackage, type Launch, launchDeno, launchUnsafeNode } from "./launch.ts";
import { InterpreterPool, type Lease } from "./pool.ts";
import { ensureSnapshot } from "./snapshot.ts";

export interface LocalPythonOptions {
  readonly program: "deno" | "unsafe-node";
  /** Path of Deno. Absent: the npm package `deno`, or the `deno` in PATH. */
  readonly denoPath?: string | undefined;
  /** Folder of Pyodide. Absent: the npm package `pyodide`. */
  readonly pyodideFolder?: string | undefined;
  readonly wheelsFolder?: string | undefined;
  /** Folder for snapshots. Absent: the user's cache folder. */
  readonly cacheFolder?: string | undefined;
  readonly timeoutMs: number;
  /** Maximum bytes of Python's memory. */
  readonly memoryBytes: number;
  readonly maxInterpreters: number;
  readonly maxInterpretersPerKey: number;
  readonly idleMs: number;
  readonly waitMs: number;
  readonly newId: () => string;
  readonly onFailure: (error: unknown) => void;
}

export interface LocalPython extends PythonRuntime {
  /** Makes the snapshot and starts the first interpreter, so that the first call does not wait. */
  prepare(): void;
}

/** Python is not available. The message gives the operator the reason. */
export class NoPythonError extends Error {
  override readonly name = "NoPythonError";
}

/** @throws NoPythonError */
export function createLocalPython(options: LocalPythonOptions): LocalPython {
  const cacheFolder = options.cacheFolder ?? defaultCacheFolder();
  const launch = toLaunch(options);
  const interpreter = toInterpreterOptions(options, launch);
  const pool = new InterpreterPool({
    start: createStart(interpreter, cacheFolder, options.onFailure),
    newId: options.newId,
    max: options.maxInterpreters,
    maxPerTenant: options.maxInterpretersPerKey,
    warm: 1,
    idleMs: options.idleMs,
    waitMs: options.waitMs,
    onFailure: options.onFailure,
  });
  return {
    stateful: true,
    network: options.program === "deno" ? "none" : "unknown",
    packages: interpreter.host.wheels.map((file) => file.split("-")[0] ?? file),
    timeoutMs: options.timeoutMs,
    open: async ({ tenant, id }, signal) =>
      new LocalSession(pool, tenant, await pool.acquire(tenant, id, signal)),
    prepare: () => pool.prepare(),
    close: () => pool.close(),
  };
}

/** The interpreter for the calls of one turn. An interpreter that has died is replaced. */
class LocalSession implements PythonSession {
  readonly resumed: boolean;
  readonly #pool: InterpreterPool;
  readonly #tenant: string;
  #lease: Lease;

  constructor(pool: InterpreterPool, tenant: string, lease: Lease) {
    this.resumed = lease.resumed;
    this.#pool = pool;
    this.#tenant = tenant;
    this.#lease = lease;
  }

  get id(): string {
    return this.#lease.id;
  }

  async run(code: string, signal: AbortSignal): Promise<PythonOutcome> {
    const restarted = !this.#lease.interpreter.alive;
    if (restarted) {
      this.#lease.release();
      this.#lease = await this.#pool.acquire(this.#tenant, undefined, signal);
    }
    return { ...(await this.#lease.interpreter.run(code, signal)), restarted };
  }

  release(): Promise<void> {
    this.#lease.release();
    return Promise.resolve();
  }
}

function toLaunch({ program, denoPath, memoryBytes }: LocalPythonOptions): Launch {
  if (program === "unsafe-node") return launchUnsafeNode(memoryBytes);
  const deno = denoPath ?? findDeno();
  if (deno === undefined || !existsSync(deno)) {
    throw new NoPythonError(
      "No Deno was found, and without it nothing isolates the code. Install the npm package deno, or set denoPath.",
    );
  }
  return launchDeno(deno, memoryBytes);
}

function toInterpreterOptions(options: LocalPythonOptions, launch: Launch): InterpreterOptions {
  const pyodideFolder = options.pyodideFolder ?? findPackage("pyodide");
  if (pyodideFolder === undefined || !existsSync(join(pyodideFolder, "pyodide.mjs"))) {
    throw new NoPythonError(
      "Pyodide was not found. Install the npm package pyodide, or set pyodideFolder.",
    );
  }
  const wheelsFolder = options.wheelsFolder && resolve(options.wheelsFolder);
  return {
    launch,
    host: {
      pyodideFolder: resolve(pyodideFolder),
      ...(wheelsFolder !== undefined && { wheelsFolder }),
      wheels: wheelsFolder === undefined ? [] : listWheels(wheelsFolder),
      maxFileBytes: options.memoryBytes / 4,
      files: FILE_LIMITS,
    },
    readable: wheelsFolder === undefined ? [] : [wheelsFolder],
    timeoutMs: options.timeoutMs,
    residentBytes: options.memoryBytes + OVERHEAD_BYTES,
    idleCpuMs: IDLE_CPU_MS,
  };
}

/** Memory of a process beyond Python's heap and files: the program, compiled WebAssembly, JavaScript. */
const OVERHEAD_BYTES = 512 * 1024 * 1024;

/** CPU time of an idle process: Deno compiles WebAssembly in the background for a second or two. */
const IDLE_CPU_MS = 10_000;

function listWheels(folder: string): string[] {
  try {
    return readdirSync(folder).filter((file) => file.endsWith(".whl"));
  } catch (error) {
    throw new NoPythonError(`The folder pythonPackages cannot be read: ${String(error)}`);
  }
}

/** Starts from a snapshot, or without a snapshot if it cannot be made, which is only slower. */
function createStart(
  options: InterpreterOptions,
  cacheFolder: string,
  onFailure: (error: unknown) => void,
) {
  const { launch, host } = options;
  const making: InterpreterOptions = {
    ...options,
    host: { ...host, wheels: [], snapshot: "make" },
  };
  let snapshot: Promise<string | undefined> | undefined;
  return async () => {
    snapshot ??= ensureSnapshot({
      folder: cacheFolder,
      inputs: [launch.command, `${host.pyodideFolder}/pyodide.asm.wasm`],
      identity: launch.identity,
      make: () => makeSnapshot(making),
    }).catch((error: unknown) => {
      onFailure(error);
      return undefined;
    });
    const path = await snapshot;
    if (path === undefined) return startInterpreter(options);
    const readable = [...options.readable, path];
    return startInterpreter({ ...options, readable, host: { ...host, snapshot: path } });
  };
}

function defaultCacheFolder(): string {
  return join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "harmony-gateway");
}
