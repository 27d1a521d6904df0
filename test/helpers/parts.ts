/**
 * Real parts of the tools that `npm ci` does not install: `npm install --prefix test/parts` does. Tests that need a
 * missing part are skipped, and named.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";

const MODULES = join(import.meta.dirname, "..", "parts", "node_modules");
const libc = process.platform === "linux" ? "-glibc" : "";

export const DENO = join(MODULES, "@deno", `${process.platform}-${process.arch}${libc}`, "deno");
export const PYODIDE = join(MODULES, "pyodide");

const SKIPPED = " (skipped: npm install --prefix test/parts installs it)";
export const HAS_PYTHON = existsSync(DENO) && existsSync(PYODIDE);
export const WITHOUT_PYTHON = HAS_PYTHON ? "" : SKIPPED;

/** One cache for all tests and runs, because making a snapshot takes seconds. */
export const PYTHON_CACHE = join(import.meta.dirname, "..", ".cache", "python");

export const EVERYTHING_SERVER = join(
  MODULES,
  "@modelcontextprotocol/server-everything/dist/index.js",
);
export const HAS_MCP_SERVER = existsSync(EVERYTHING_SERVER);
export const WITHOUT_MCP_SERVER = HAS_MCP_SERVER ? "" : SKIPPED;
