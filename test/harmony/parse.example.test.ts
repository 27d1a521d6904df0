import { readFileSync } from "node:fs";
import { expect, test, vi } from "vitest";
import { RECOVERIES } from "../../src/harmony/recoveries.ts";

test("the guide shows what the example prints", async () => {
  const log = vi.spyOn(console, "log").mockReturnValue();
  await import("../../examples/parse.ts");
  const printed = log.mock.calls.map((call) => call.map(String).join(" ")).join("\n");
  log.mockRestore();
  const guide = readFileSync(new URL("../../docs/harmony.md", import.meta.url), "utf8");
  expect(guide).toContain(`\n\`\`\`text\n${printed}\n\`\`\`\n`);
});

test("the guide lists every repair and its meaning", () => {
  const guide = readFileSync(new URL("../../docs/harmony-rules.md", import.meta.url), "utf8");
  const [, table = ""] = /^## Repairs$(.*)/ms.exec(guide) ?? [];
  const rows = [...table.matchAll(/^\| `([\w-]+)` +\| (.*?) +\|$/gm)].map(
    ([, name = "", meaning = ""]) => [name, meaning.replaceAll("\\|", "|")],
  );
  expect(rows).toEqual(Object.entries(RECOVERIES));
});
