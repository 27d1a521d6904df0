import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { describedSettings } from "../../src/config/describe.ts";

const SOURCES = join(import.meta.dirname, "../../src");

/** What needs Node, or only defines and checks settings. */
const NOT_PORTABLE = /^(?:node\.ts|node\/|config\/|inspect\/page\/)/;

/** Without comments. */
const portable = readdirSync(SOURCES, { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".ts") && !NOT_PORTABLE.test(file))
  .map((file) => readFileSync(join(SOURCES, file), "utf8"))
  .join("\n")
  .replaceAll(/\/\*.*?\*\/|\/\/.*?$/gms, "");

/** Workers log as JSON in any case. */
const WITHOUT_LOSS: ReadonlySet<string> = new Set(["logFormat"]);

test("a setting that no portable code reads is one that only Node can honour", () => {
  const unread = describedSettings()
    .filter(({ name }) => !new RegExp(String.raw`\b${name}\b`).test(portable))
    .filter(({ name, nodeOnly }) => !nodeOnly && !WITHOUT_LOSS.has(name));
  expect(unread.map(({ name }) => name)).toEqual([]);
});

test("no portable code reads a setting that only Node can honour", () => {
  const read = describedSettings()
    .filter(({ nodeOnly }) => nodeOnly)
    .filter(({ name }) => new RegExp(String.raw`settings\.${name}\b`).test(portable));
  expect(read.map(({ name }) => name)).toEqual([]);
});
