/** Compares the sizes of the pages' files, after gzip, with their budgets. Fails if one is exceeded. */
import { mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { bundlePages } from "../../scripts/bundle-pages.ts";
import { CHAT_PAGE } from "../../src/pages/chat-page.ts";
import { INSPECT_PAGE } from "../../src/inspect/page-description.ts";
import type { PageDescription } from "../../src/pages/assets.ts";
import { toPageHtml } from "../../src/pages/page-html.ts";

/** Bytes after gzip. */
const MAX_BEFORE_TYPING = 30_000;
const MAX_MARKDOWN = 18_000;
const MAX_CHAT = 80_000;
const MAX_INSPECTOR = 75_000;
/** Budget of the files that are loaded only for an answer with a formula. */
const MAX_FORMULAS = 60_000;

const folder = await mkdtemp(join(tmpdir(), "harmony-gateway-pages-"));
try {
  await bundlePages(folder);
  const all = await sizesOf(CHAT_PAGE);
  const scripts = await staticImports(CHAT_PAGE, "app.js");
  check(
    "chat, until one can type",
    htmlSize(scripts) + sum(all, ["style.css", ...scripts]),
    MAX_BEFORE_TYPING,
  );
  const markdown = [...all.keys()].filter((name) => name.startsWith("markdown-"));
  if (markdown.length !== 1) throw new Error("Markdown is not loaded apart from the page.");
  check("chat, Markdown", sum(all, markdown), MAX_MARKDOWN);
  const formulas = [...all.keys()].filter((name) => name.startsWith("math-"));
  if (formulas.length !== 1) throw new Error("Formulas are not loaded apart from Markdown.");
  check("chat, formulas", sum(all, formulas), MAX_FORMULAS);
  check(
    "chat, everything else",
    htmlSize(scripts) + sum(all, all.keys()) - sum(all, formulas),
    MAX_CHAT,
  );
  const inspector = await sizesOf(INSPECT_PAGE);
  check("inspector, everything", sum(inspector, inspector.keys()), MAX_INSPECTOR);
} finally {
  await rm(folder, { recursive: true });
}

function check(name: string, bytes: number, most: number): void {
  console.log(`${name}: ${kilobytes(bytes)} of ${kilobytes(most)} after gzip.`);
  // Also false without a size.
  if (bytes <= most) return;
  console.error("That is more than it may have.");
  process.exitCode = 1;
}

/** Compressed sizes by the name of the file. */
async function sizesOf({ entry }: PageDescription): Promise<ReadonlyMap<string, number>> {
  const own = join(folder, dirname(entry));
  const names = (await readdir(own)).filter((name) => name.endsWith(".gz"));
  const sizes = names.map(async (name) => (await stat(join(own, name))).size);
  return new Map(
    (await Promise.all(sizes)).map((size, at) => [names[at]?.slice(0, -3) ?? "", size]),
  );
}

/** A script and its static imports, direct and indirect. */
async function staticImports(
  { entry }: PageDescription,
  script: string,
): Promise<readonly string[]> {
  const found = new Set([script]);
  for (const name of found) {
    const text = await readFile(join(folder, dirname(entry), name), "utf8");
    for (const [, to = ""] of text.matchAll(/\b(?:from|import)"\.\/([\w.-]+)"/g)) found.add(to);
  }
  return [...found];
}

function htmlSize([entry = "", ...modules]: readonly string[]): number {
  const files = { base: `app/chat-${"0".repeat(16)}/`, style: "style.css", icon: "icon.svg" };
  const html = toPageHtml(CHAT_PAGE, { ...files, entry, modules });
  return gzipSync(html).length;
}

function sum(sizes: ReadonlyMap<string, number>, names: Iterable<string>): number {
  return Array.from(names, (name) => sizes.get(name) ?? Number.NaN).reduce((a, b) => a + b, 0);
}

function kilobytes(bytes: number): string {
  return `${(bytes / 1000).toFixed(1)} KB`;
}
