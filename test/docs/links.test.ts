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

test.each(pages)("every heading that %s links to exists", (page) => {
  const text = readFileSync(join(ROOT, page), "utf8");
  const links = Array.from(text.matchAll(/\]\((?!\w+:)([^)#\s]*)#([^)\s]+)\)/g));
  const missing = links
    .map(([, path = "", anchor = ""]) => ({ path, anchor }))
    .filter(({ path, anchor }) => {
      const target = path === "" ? page : join(dirname(page), path);
      return target.endsWith(".md") && !readAnchors(target).has(anchor);
    });
  expect(missing).toEqual([]);
});

test("each page is in the index, or linked from a page that is", () => {
  const linksOf = (page: string) =>
    Array.from(readFileSync(join(ROOT, page), "utf8").matchAll(/\]\((?!\w+:|#)([^)#\s]+)/g)).map(
      ([, path = ""]) => join(dirname(page), path),
    );
  const linked = linksOf("docs/README.md");
  const further = linked.filter((page) => pages.includes(page)).flatMap(linksOf);
  const reachable = new Set([...linked, ...further, "docs/README.md"]);
  expect(pages.filter((page) => /^docs\/[^/]+$/.test(page) && !reachable.has(page))).toEqual([]);
});

/** The anchors that GitHub derives from headings. */
function readAnchors(page: string): Set<string> {
  const text = readFileSync(join(ROOT, page), "utf8").replace(/^```[\s\S]*?^```/gm, "");
  return new Set(
    Array.from(text.matchAll(/^#+ (.+)$/gm), ([, heading = ""]) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
        .replaceAll(" ", "-"),
    ),
  );
}
