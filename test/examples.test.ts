/** Every value that the package exports has an `@example` that runs, and whose results are those it states. */
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";

const ENTRIES = {
  "harmony-gateway": "src/index.ts",
  "harmony-gateway/harmony": "src/harmony/index.ts",
  "harmony-gateway/openchatml": "src/openchatml/index.ts",
  "harmony-gateway/tokenizer": "src/tokenizer/index.ts",
} as const;
const folder = mkdtempSync(join(tmpdir(), "harmony-gateway-examples-"));

describe.each(Object.entries(ENTRIES))("%s", (entry, path) => {
  const index = readFileSync(path, "utf8");
  const exported = [...index.matchAll(/^export \{([^}]*)\} from "([^"]+)"/gm)].flatMap(
    ([, names = "", source = ""]) => {
      const values = names.split(",").map((each) => each.trim());
      const file = join(dirname(path), source);
      return values
        .filter((each) => each !== "" && !each.startsWith("type "))
        .map((name) => ({ name, file }));
    },
  );

  test("has exports", async () => {
    const module: object = await import(pathToFileURL(path).href);
    expect(exported.map(({ name }) => name).toSorted()).toEqual(Object.keys(module).toSorted());
  });

  test.each(exported)("$name", async ({ name, file }) => {
    const example = exampleOf(name, readFileSync(file, "utf8"));
    expect(example).toContain(`} from "${entry}";`);
    const results = await run(example);
    expect(results.length).toBeGreaterThan(0);
    for (const { got, stated } of results) expect(got).toEqual(stated);
  });
});

/** The code in the comment directly before the declaration. */
function exampleOf(name: string, source: string): string {
  const declared = new RegExp(`^export (?:async )?(?:function|const|class) ${name}\\b`, "m");
  const at = declared.exec(source)?.index ?? 0;
  const comment = source.slice(source.lastIndexOf("/**", at), at);
  const [, code = ""] = /@example\n \* ```ts\n([\s\S]*?)\n \* ```/.exec(comment) ?? [];
  const isDirectlyBefore = comment.trimEnd().endsWith("*/") && !comment.slice(0, -4).includes("*/");
  return isDirectlyBefore ? code.replaceAll(/^ \* ?/gm, "") : "";
}

interface Result {
  readonly got: unknown;
  readonly stated: unknown;
}

let count = 0;

/** `expression; // => value` states a result, and `expression; // throws message` an error. */
async function run(example: string): Promise<readonly Result[]> {
  const code = example
    .replaceAll(/ from "([^"]+)";/g, (_, entry: keyof typeof ENTRIES) => {
      return ` from ${JSON.stringify(pathToFileURL(ENTRIES[entry]).href)};`;
    })
    .replaceAll(/^(.*);\s*\/\/ => (.*)$/gm, "results.push({ got: $1, stated: $2 });");
  const file = join(folder, `${count++}.ts`);
  writeFileSync(file, `export const results = [];\n${code}\n`);
  const { results } = await import(pathToFileURL(file).href);
  return results;
}
