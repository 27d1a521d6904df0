import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { toEnginesDocument } from "../../scripts/engines-doc.ts";
import { loadSettings } from "../../src/node/cli/settings.ts";

test("the page about engines matches their capabilities", () => {
  const written = readFileSync(new URL("../../docs/engines.md", import.meta.url), "utf8");
  expect(written).toBe(toEnginesDocument());
});

const commands = [...toEnginesDocument().matchAll(/^(?:\w+=\S+ )?harmony-gateway\b(.*)$/gm)];

test.each(commands.map(([, flags = ""]) => flags.trim()))("%j is a command line", (flags) => {
  const args = flags === "" ? [] : flags.split(" ");
  expect(loadSettings(args, {}).warnings).toEqual([]);
});

test("its list of backends is a config file", () => {
  const [, json = ""] = /```json\n(.*?)```/s.exec(toEnginesDocument()) ?? [];
  const { backends } = JSON.parse(json);
  const { settings } = loadSettings(["--backends", JSON.stringify(backends)], {});
  expect(settings.backends).toHaveLength(3);
});
