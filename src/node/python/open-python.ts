/** Creates the `python` tool from the settings. */
import { randomBytes } from "node:crypto";
import type { Log } from "../../telemetry/log.ts";
import { createHttpPython } from "../../tools/python/http-runtime.ts";
import type { PythonRuntime } from "../../tools/python/runtime.ts";
import { createPythonTool } from "../../tools/python/tool.ts";
import type { GatewayTool } from "../../tools/gateway-tool.ts";
import type { PythonOptions } from "../../tools/toolbox.ts";
import { createLocalPython, NoPythonError } from "./local-runtime.ts";
import { createMcpPython } from "./mcp-runtime.ts";

/** Settings of the Python tool. */
export interface PythonSettings {
  readonly pythonRuntime: "deno" | "http" | "mcp" | "unsafe-node";
  readonly pythonUrl?: string | undefined;
  readonly pythonKey?: string | undefined;
  readonly pythonTimeoutMs: number;
  readonly pythonMemory: number;
  readonly pythonPackages?: string | undefined;
  readonly pythonCache?: string | undefined;
  readonly pythonIdleMs: number;
  readonly maxInterpreters: number;
  readonly maxInterpretersPerKey: number;
  readonly denoPath?: string | undefined;
  readonly pyodideFolder?: string | undefined;
}

export interface OpenPython {
  /** Absent: Python cannot run safely here. The log gives the reason. */
  readonly python?: (options: PythonOptions) => GatewayTool;
  readonly close: () => Promise<void>;
}

/** Maximum wait for an interpreter, in milliseconds. */
const WAIT_MS = 30_000;

export function openPython(settings: PythonSettings, log: Log): OpenPython {
  try {
    const runtime = createRuntime(settings, log);
    return {
      python: (options) => createPythonTool(runtime, options),
      close: () => runtime.close(),
    };
  } catch (error) {
    if (!(error instanceof NoPythonError)) throw error;
    log.error("python not offered", { reason: error.message });
    return { close: () => Promise.resolve() };
  }
}

function createRuntime(settings: PythonSettings, log: Log): PythonRuntime {
  const { pythonRuntime, pythonUrl, pythonTimeoutMs: timeoutMs } = settings;
  if (pythonRuntime === "http" || pythonRuntime === "mcp") {
    const { pythonKey: key } = settings;
    if (pythonUrl === undefined) {
      throw new NoPythonError(`pythonRuntime ${pythonRuntime} needs pythonUrl.`);
    }
    if (pythonRuntime === "http") {
      return createHttpPython({ url: pythonUrl, key, timeoutMs, newId, fetch });
    }
    const onFailure = (reason: string) => log.warn("python failed", { reason });
    return createMcpPython({ url: pythonUrl, key, timeoutMs, newId, onFailure });
  }
  if (pythonRuntime === "unsafe-node") {
    const risk = "The model's code can read files, connect and start processes as the gateway can.";
    log.warn("python is not isolated", { risk });
  }
  const runtime = createLocalPython({
    program: pythonRuntime,
    denoPath: settings.denoPath,
    pyodideFolder: settings.pyodideFolder,
    wheelsFolder: settings.pythonPackages,
    cacheFolder: settings.pythonCache,
    timeoutMs,
    memoryBytes: settings.pythonMemory,
    maxInterpreters: settings.maxInterpreters,
    maxInterpretersPerKey: settings.maxInterpretersPerKey,
    idleMs: settings.pythonIdleMs,
    waitMs: WAIT_MS,
    newId,
    onFailure: (error) => log.error("python failed", { reason: String(error) }),
  });
  runtime.prepare();
  return runtime;
}

function newId(): string {
  return randomBytes(18).toString("base64url");
}
