import { readFileSync } from "node:fs";
import { expect, test, vi } from "vitest";

test("the guide shows what the example prints", async () => {
  const log = vi.spyOn(console, "log").mockImplementation(() => {});
  await import("../../examples/render.ts");
  const printed = log.mock.calls.flat().join("\n");
  log.mockRestore();
  const guide = readFileSync(new URL("../../docs/harmony.md", import.meta.url), "utf8");
  expect(guide).toContain(`\n\`\`\`text\n${printed}\n\`\`\`\n`);
});
