/** Checks the blocks that are not commands: data is parsed, programs are checked by their compilers. */
import { execFile, execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { parseAllDocuments } from "yaml";
import { type Fence, noteOf } from "./fences.ts";

const run = promisify(execFile);

/**
 * Languages that are checked block by block. Blocks in other languages need a note that says why they are not
 * checked.
 */
export const SNIPPET_CHECKS: Readonly<Record<string, (fence: Fence) => string | undefined>> = {
  json: ({ body }) => problemOf(() => JSON.parse(body)),
  yaml: ({ body }) => parseAllDocuments(body).flatMap(({ errors }) => errors)[0]?.message,
  js: ({ body }) => checkSyntax(process.execPath, ["--check", "--input-type=module", "-"], body),
  python: ({ body }) =>
    HAS_PYTHON
      ? checkSyntax("python3", ["-c", "import ast, sys; ast.parse(sys.stdin.read())"], body)
      : undefined,
};

const HAS_PYTHON = spawnSync("python3", ["--version"]).status === 0;

function checkSyntax(program: string, args: readonly string[], input: string): string | undefined {
  return problemOf(() => execFileSync(program, args, { input, stdio: "pipe" }));
}

function problemOf(check: () => unknown): string | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/**
 * Type-checks all TypeScript snippets together, in a separate folder, where the package's name resolves to the sources.
 * Resolves to the compiler's messages, by the index of the snippet.
 */
export async function checkTypes(
  root: string,
  fences: readonly Fence[],
): Promise<Map<number, string>> {
  // Without inputs the compiler fails.
  if (fences.length === 0) return new Map();
  const folder = mkdtempSync(join(tmpdir(), "docs-types-"));
  try {
    for (const [index, fence] of fences.entries()) {
      const before = noteOf(fence, "with") ?? "";
      // In one line, so that the compiler counts the lines of the snippet.
      const head = before.replaceAll(/\s*\n\s*/g, " ");
      writeFileSync(join(folder, `${index}.ts`), `${head} ${fence.body}\nexport {};\n`);
    }
    symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
    writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(toConfig(root)));
    const { stdout } = await run(
      join(root, "node_modules/.bin/tsc"),
      ["-p", folder, "--pretty", "false"],
      { cwd: folder },
    ).catch((error: { stdout: string }) => error);
    return toProblems(stdout);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function toConfig(root: string) {
  const source = (path: string) => [join(root, "src", path)];
  return {
    extends: join(root, "tsconfig.json"),
    compilerOptions: {
      // Snippets may leave variables unused.
      noUnusedLocals: false,
      noUnusedParameters: false,
      typeRoots: [join(root, "node_modules/@types")],
      paths: {
        "gpt-oss-harmony": source("harmony/index.ts"),
        "gpt-oss-harmony/*": source("*/index.ts"),
        "harmony-gateway": source("index.ts"),
        "harmony-gateway/worker": source("worker.ts"),
        "harmony-gateway/*": source("*/index.ts"),
      },
    },
    include: ["*.ts"],
  };
}

function toProblems(printed: string): Map<number, string> {
  const problems = new Map<number, string>();
  for (const [line, index = ""] of printed.matchAll(/^(\d+)\.ts\(.*$/gm)) {
    const earlier = problems.get(Number(index));
    problems.set(Number(index), earlier === undefined ? line : `${earlier}\n${line}`);
  }
  if (problems.size === 0 && printed.trim() !== "") problems.set(-1, printed);
  return problems;
}
