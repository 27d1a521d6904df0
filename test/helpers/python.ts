/** The interpreter of the tests: Pyodide in Deno, installed by `npm install --prefix test/parts`. */
import {
  createLocalPython,
  type LocalPython,
  type LocalPythonOptions,
} from "../../src/node/python/local-runtime.ts";
import { DENO, PYODIDE, PYTHON_CACHE } from "./parts.ts";

/**
 * Creates an interpreter with limits for a busy machine. A failure in the background is thrown, which fails the test
 * run.
 */
export function createTestPython(options: Partial<LocalPythonOptions> = {}): LocalPython {
  let ids = 0;
  return createLocalPython({
    program: "deno",
    denoPath: DENO,
    pyodideFolder: PYODIDE,
    cacheFolder: PYTHON_CACHE,
    timeoutMs: 45_000,
    memoryBytes: 256 * 1024 * 1024,
    maxInterpreters: 4,
    maxInterpretersPerKey: 4,
    idleMs: 60_000,
    waitMs: 60_000,
    newId: () => `session-${++ids}`,
    onFailure: (error) => {
      throw error;
    },
    ...options,
  });
}
