import { readFileSync } from "node:fs";
import { expect, test, vi } from "vitest";

test("the guide shows what the example prints", async () => {
  const log = vi.spyOn(console, "log").mockReturnValue();
  await import("../../examples/parse.ts");
  const printed = log.mock.calls.map((call) => call.map(String).join(" ")).join("\n");
  log.mockRestore();
  const guide = readFileSync(new URL("../../docs/harmony.md", import.meta.url), "utf8");
  expect(guide).toContain(`\n\`\`\`text\n${printed}\n\`\`\`\n`);
});

test("the guide names every repair", () => {
  const source = new URL("../../src/harmony/recoveries.ts", import.meta.url);
  const guide = readFileSync(new URL("../../docs/harmony.md", import.meta.url), "utf8");
  const names = [...readFileSync(source, "utf8").matchAll(/^ {2}\| "([\w-]+)"/gm)].map(
    ([, name]) => name,
  );
  const named = [...guide.matchAll(/^\| `([\w-]+)` +\|/gm)].map(([, name]) => name);
  expect(names.length).toBeGreaterThan(20);
  expect(named).toEqual(expect.arrayContaining(names));
});
