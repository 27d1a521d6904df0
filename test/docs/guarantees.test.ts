import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { toGuaranteesDocument } from "../../scripts/guarantees-doc.ts";

test("the table of guarantees matches the engines' capabilities", () => {
  const written = readFileSync(new URL("../../docs/guarantees.md", import.meta.url), "utf8");
  expect(written).toBe(toGuaranteesDocument());
});
