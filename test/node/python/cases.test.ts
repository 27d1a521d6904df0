/** The recorded results of code: of a stateless process, which prints, and of a notebook, which shows last expressions. */
import { execFile, execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import type { LocalPython } from "../../../src/node/python/local-runtime.ts";
import type { PythonRuntime } from "../../../src/tools/python/runtime.ts";
import { createPythonTool } from "../../../src/tools/python/tool.ts";
import { HAS_PYTHON, WITHOUT_PYTHON } from "../../helpers/parts.ts";
import { createTestPython } from "../../helpers/python.ts";

const resultCase = z.object({
  id: z.string(),
  kind: z.literal("python-result"),
  input: z.object({
    mode: z.enum(["stateless", "stateful"]),
    code: z.string().optional(),
    cells: z.array(z.string()).optional(),
  }),
  expected: z.union([z.string(), z.array(z.string())]),
});

type ResultCase = z.infer<typeof resultCase>;

const CASES = readFileSync(
  join(import.meta.dirname, "../../fixtures/builtin-tools/cases.jsonl"),
  "utf8",
)
  .trim()
  .split("\n")
  .flatMap((line) => resultCase.safeParse(JSON.parse(line)).data ?? []);
const casesOf = (mode: string) => CASES.filter(({ input }) => input.mode === mode);

async function runCells(runtime: PythonRuntime, { input: { code = "", cells } }: ResultCase) {
  const { signal } = new AbortController();
  const session = { tenant: "acme", turnId: "t1", saved: undefined, signal };
  const run = await createPythonTool(runtime).open(session);
  const texts: string[] = [];
  for (const body of cells ?? [code]) {
    texts.push((await run.run({ id: "c", recipient: "python", body }, signal)).text);
  }
  await run.close();
  return cells === undefined ? texts[0] : texts;
}

test("all of them are run", () => {
  expect(CASES).toHaveLength(4);
});

const HAS_PYTHON3 = hasPython3();
const WITHOUT_PYTHON3 = HAS_PYTHON3 ? "" : " (skipped: there is no python3)";

describe.skipIf(!HAS_PYTHON3)(`a process for each call${WITHOUT_PYTHON3}`, () => {
  test.each(casesOf("stateless"))("$id", async (each) => {
    expect(await runCells(processRuntime(), each)).toEqual(each.expected);
  });
});

describe.skipIf(!HAS_PYTHON)(`an interpreter that keeps its variables${WITHOUT_PYTHON}`, () => {
  let python: LocalPython;
  beforeAll(() => {
    python = createTestPython({ maxInterpreters: 1, maxInterpretersPerKey: 1 });
  });
  afterAll(() => python.close());

  test.each(casesOf("stateful"))("$id", async (each) => {
    expect(await runCells(python, each)).toEqual(each.expected);
  });
});

/** Runs each call in a new process, as gpt-oss' reference implementation does in a container. */
function processRuntime(): PythonRuntime {
  return {
    stateful: false,
    network: "unknown",
    packages: undefined,
    timeoutMs: 45_000,
    open: () =>
      Promise.resolve({
        id: "process",
        resumed: false,
        async run(code) {
          const { stdout } = await promisify(execFile)("python3", ["-c", code]);
          return { status: "ok", output: stdout, files: [], withheld: [], restarted: false };
        },
        release: () => Promise.resolve(),
      }),
    close: () => Promise.resolve(),
  };
}

function hasPython3(): boolean {
  try {
    execFileSync("python3", ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
