/** The official JSON Schema test suite, draft 2020-12 (fixtures/json-schema, MIT licence beside it). */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { compileSchema } from "../../src/json-schema/index.ts";
import { checkOnce } from "./support.ts";
import { DIFFERENT, REFUSED } from "./unsupported.ts";

const FOLDER = join(import.meta.dirname, "../fixtures/json-schema/draft2020-12");

interface Group {
  readonly description: string;
  readonly schema: unknown;
  readonly tests: readonly {
    readonly description: string;
    readonly data: unknown;
    readonly valid: boolean;
  }[];
}

const FILES = readdirSync(FOLDER, { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".json"))
  .toSorted();

describe.each(FILES)("%s", (file) => {
  const groups: readonly Group[] = JSON.parse(readFileSync(join(FOLDER, file), "utf8"));
  test.each(groups.map((group) => [group.description, group] as const))(
    "%s",
    async (name, group) => {
      const refusal = REFUSED[file]?.[name];
      const different = DIFFERENT[file]?.[name] ?? [];
      const outcome = await findDifferences(group).catch((error: Error) => error.message);
      const isRefused = typeof outcome === "string" && refusal?.test(outcome);
      expect(isRefused ? "refused" : outcome).toEqual(refusal ? "refused" : different);
    },
  );
});

/** Tests that come out otherwise than the suite says. */
async function findDifferences({ schema, tests }: Group): Promise<string[]> {
  const checker = compileSchema(schema);
  const different: string[] = [];
  for (const { description, data, valid } of tests) {
    const verdict = await checkOnce(checker, data);
    if (verdict.valid !== valid) different.push(description);
  }
  return different;
}
