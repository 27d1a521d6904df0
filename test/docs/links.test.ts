import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "../..");

const pages = [
  ...readdirSync(ROOT).filter((name) => name.endsWith(".md")),
  ...readdirSync(join(ROOT, "docs"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => join("docs", name)),
];

test.each(pages)("every file that %s links to or names exists", (page) => {
  const text = readFileSync(join(ROOT, page), "utf8");
  const linked = [...text.matchAll(/\]\((?!\w+:|#)([^)#\s]+)/g)].map(([, path = ""]) =>
    join(dirname(page), path),
  );
  const named = [...text.matchAll(/`((?:docs|examples|proof|scripts|src|test)\/[\w./-]+)`/g)].map(
    ([, path = ""]) => path,
  );
  expect([...linked, ...named].filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
});
