/**
 * V8 gives every object literal with an accessor a hidden class of its own, in the old generation: the object, its
 * closure and the request they belong to stay in memory until the next full collection. Classes share theirs.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const SOURCES = join(import.meta.dirname, "..", "src");

/** They live as long as the process, or nearly. */
const LONG_LIVED = [
  "engines/auto.ts",
  "engines/server-engine.ts",
  "gateway.ts",
  "models/models.ts",
  "node/console/log-output.ts",
  "node/python/interpreter.ts",
  "node/server/serve.ts",
  "turn/sampling/token-limits.ts",
];

test("no object literal of a request has an accessor", () => {
  const sources = readdirSync(SOURCES, { recursive: true, encoding: "utf8" });
  const found = sources.filter((path) => {
    return path.endsWith(".ts") && hasAccessor(readFileSync(join(SOURCES, path), "utf8"));
  });
  expect(found.map((path) => path.replaceAll("\\", "/")).toSorted()).toEqual(LONG_LIVED);
});

test.each([
  ["an accessor in a literal", "  return {\n    get a() {\n", true],
  ["a setter in a literal", "const a = {\n  set a(b) {\n", true],
  [
    "an accessor in a class",
    "export class A implements B {\n  readonly c: D;\n\n  get a() {\n",
    false,
  ],
  ["a method named get", "  return {\n    get(a) {\n", false],
])("%s is distinguished from others", (_, source, expected) => {
  expect(hasAccessor(source)).toBe(expected);
});

/** Relies on the formatter: what encloses a line is the nearest line above it that is indented less. */
function hasAccessor(source: string): boolean {
  const lines = source.split("\n");
  return lines.some((line, at) => {
    if (!/^\s+[gs]et \w+\(/.test(line)) return false;
    const enclosing = lines.slice(0, at).findLast((other) => {
      return other.trim() !== "" && indentOf(other) < indentOf(line);
    });
    return enclosing !== undefined && !/\bclass\b|\bimplements\b|\bextends\b/.test(enclosing);
  });
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length;
}
