/** Code of clients in the docs is the chat's: after a change, `node scripts/write-docs.ts`. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { withSnippets } from "../../scripts/clients-doc.ts";
import { findPages } from "../../scripts/docs/fences.ts";

const ROOT = join(import.meta.dirname, "../..");
const PAGES = findPages(ROOT)
  .map((page) => [page, readFileSync(join(ROOT, page), "utf8")] as const)
  .filter(([, text]) => text.includes("<!-- snippet: "));

test("pages with code of clients are found", () => {
  expect(PAGES).not.toEqual([]);
});

test.each(PAGES)("%s shows what the chat shows", (_, text) => {
  expect(text).toBe(withSnippets(text));
});

test("a block that differs is found, and a wrong marker is an error", () => {
  const block = (api: string) => `<!-- snippet: curl ${api} -->\n\n\`\`\`sh\nold\n\`\`\``;
  expect(withSnippets(block("chat"))).toContain("/v1/chat/completions");
  expect(() => withSnippets(block("smoke"))).toThrow("There is no API smoke.");
});
