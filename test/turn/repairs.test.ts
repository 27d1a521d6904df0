import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { TURN_REPAIRS } from "../../src/turn/repairs.ts";

test("the guide lists every repair of the turn and its meaning", () => {
  const guide = readFileSync(new URL("../../docs/operate.md", import.meta.url), "utf8");
  const [, table = ""] = /^### Repairs of a turn$(.*?)^## /ms.exec(guide) ?? [];
  const rows = [...table.matchAll(/^\| `([\w-]+)` +\| (.*?) +\|$/gm)].map(
    ([, name = "", meaning = ""]) => [name, meaning],
  );
  expect(rows).toEqual(Object.entries(TURN_REPAIRS));
});
