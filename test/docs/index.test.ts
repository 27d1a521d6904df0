/** The table in `docs/README.md` is the index of the pages, and the sidebar of the site. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const DOCS = join(import.meta.dirname, "../../docs");
const index = readFileSync(join(DOCS, "README.md"), "utf8");

test("each page is in the index", () => {
  const pages = readdirSync(DOCS).filter((name) => name.endsWith(".md") && name !== "README.md");
  const linked = Array.from(index.matchAll(/\]\(([^)]+)\)/g), ([, page]) => page);
  const reachable = new Set(linked.flatMap((page = "") => [page, ...readLinks(page)]));
  expect(pages.filter((page) => !reachable.has(page))).toEqual([]);
});

test("a page that people write names the next page", () => {
  const generated = /^(?:settings|fields|guarantees|engines|harmony-rules)\.md$/;
  const pages = readdirSync(DOCS).filter(
    (name) => name.endsWith(".md") && name !== "README.md" && !generated.test(name),
  );
  for (const page of pages) {
    const text = readFileSync(join(DOCS, page), "utf8");
    expect([page, text.includes("\nNext: ")]).toEqual([page, true]);
  }
});

function readLinks(page: string): string[] {
  if (!page.endsWith(".md") || page.startsWith("../")) return [];
  const text = readFileSync(join(DOCS, page), "utf8");
  return Array.from(text.matchAll(/\]\(([^)#]+)/g), ([, target = ""]) => target);
}
