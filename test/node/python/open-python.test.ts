import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { openPython, type PythonSettings } from "../../../src/node/python/open-python.ts";
import { createLog } from "../../../src/telemetry/log.ts";

const empty = mkdtempSync(join(tmpdir(), "no-python-"));
const pyodide = mkdtempSync(join(tmpdir(), "pyodide-"));
writeFileSync(join(pyodide, "pyodide.mjs"), "");
afterAll(() => {
  for (const folder of [empty, pyodide]) rmSync(folder, { recursive: true });
});

function open(settings: Partial<PythonSettings>) {
  const lines: string[] = [];
  const log = createLog({ level: "info", now: () => 0, write: (line) => lines.push(line) });
  const opened = openPython(
    {
      pythonRuntime: "deno",
      pythonTimeoutMs: 60_000,
      pythonMemory: 2 ** 28,
      pythonIdleMs: 1000,
      pythonCache: empty,
      maxInterpreters: 1,
      maxInterpretersPerKey: 1,
      ...settings,
    },
    log,
  );
  return { ...opened, log: () => lines.join("\n") };
}

describe("without isolation python is not offered, and the log says why", () => {
  test.each<[string, Partial<PythonSettings>, string]>([
    [
      "no Pyodide",
      { denoPath: "/bin/true", pyodideFolder: empty },
      "Pyodide was not found. Install the npm package pyodide, or set pyodideFolder.",
    ],
    [
      "no Deno",
      { denoPath: join(empty, "deno"), pyodideFolder: empty },
      "No Deno was found, and without it nothing isolates the code. Install the npm package deno, or set denoPath.",
    ],
    [
      "no folder of packages",
      { denoPath: "/bin/true", pyodideFolder: pyodide, pythonPackages: join(empty, "none") },
      "The folder pythonPackages cannot be read: Error: ENOENT: no such file or directory, scandir",
    ],
    ["no sandbox", { pythonRuntime: "http" }, "pythonRuntime http needs pythonUrl."],
    ["no MCP server", { pythonRuntime: "mcp" }, "pythonRuntime mcp needs pythonUrl."],
  ])("%s", async (_, settings, reason) => {
    const { python, log, close } = open(settings);
    expect(python).toBeUndefined();
    expect(log()).toMatch(/python not offered/);
    expect(log()).toContain(reason);
    await close();
  });
});

test("a remote sandbox is offered, with the description of training where its properties are unknown", async () => {
  const { python, close } = open({ pythonRuntime: "http", pythonUrl: "http://127.0.0.1:1/run" });
  expect(python?.({}).namespace?.description).toContain("UNKNOWN. Depends on the cluster.");
  await close();
});
