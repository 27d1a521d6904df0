/** Messages, headers and metrics that the pages quote are in the gateway's source. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { findPages } from "../../scripts/docs/fences.ts";

const ROOT = join(import.meta.dirname, "../..");
const SOURCE = readdirSync(join(ROOT, "src"), { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts"))
  .map((name) => readFileSync(join(ROOT, "src", name), "utf8"))
  .join("\n");

test("the messages and codes in the first columns of docs/troubleshooting.md", () => {
  const page = readFileSync(join(ROOT, "docs/troubleshooting.md"), "utf8");
  const cells = Array.from(page.matchAll(/^\| (.+?) \|/gm), ([, cell = ""]) => cell);
  const quotes = cells.flatMap((cell) =>
    Array.from(cell.matchAll(/`([^`]+)`|"([^"]+)"/g), ([, code, words]) => code ?? words ?? ""),
  );
  expect(quotes.length).toBeGreaterThan(15);
  // A message is quoted with … where a value stands, and a hint may be a text of its own.
  const parts = quotes.flatMap((quote) => quote.split(/…|(?<=\.) /)).map((part) => part.trim());
  expect(parts.filter((part) => !SOURCE.includes(part))).toEqual([]);
});

test("headers and metrics in all pages", () => {
  const text = findPages(ROOT).map((page) => readFileSync(join(ROOT, page), "utf8"));
  const names = new Set(text.join("\n").match(/\b(?:x-harmony-[a-z-]+|harmony_gateway_\w+)\b/g));
  expect(names.size).toBeGreaterThan(20);
  expect([...names].filter((name) => !SOURCE.includes(name))).toEqual([]);
});
