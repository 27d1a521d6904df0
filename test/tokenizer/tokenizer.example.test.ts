import { readFileSync } from "node:fs";
import { expect, test, vi } from "vitest";
import * as tokenizer from "../../src/tokenizer/index.ts";

const guide = readFileSync(new URL("../../docs/harmony.md", import.meta.url), "utf8");

test("the guide shows what the example prints", async () => {
  const log = vi.spyOn(console, "log").mockReturnValue();
  await import("../../examples/tokenizer.ts");
  const printed = log.mock.calls.map((call) => call.map(String).join(" ")).join("\n");
  log.mockRestore();
  expect(guide).toContain(`\n\`\`\`text\n${printed}\n\`\`\`\n`);
});

test("the guide names every export", () => {
  const [, section = ""] = /^### Exports of the tokenizer$(.*?)^### /ms.exec(guide) ?? [];
  const named = [...section.matchAll(/^\| `(\w+)/gm)].map(([, name]) => name);
  expect(new Set(named)).toEqual(new Set(Object.keys(tokenizer)));
});
