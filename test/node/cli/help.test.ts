import { main } from "../../../src/node/cli/main.ts";
import { expect, test } from "vitest";
import { SETTING_GROUPS } from "../../../src/config/setting.ts";
import { describedSettings } from "../../../src/config/describe.ts";
import { ENGINE_KINDS } from "../../../src/index.ts";
import { QUIET_IO } from "../../helpers/command-io.ts";
import { SHORT_HELP, toFullHelp, toSettingsDocument } from "../../../src/node/cli/help.ts";

test("the help has every setting, under its group", () => {
  const help = toFullHelp();
  for (const setting of describedSettings()) {
    const isAdvanced = !setting.common && setting.group !== "tools";
    const title = SETTING_GROUPS[setting.group];
    const group = help.indexOf(isAdvanced ? `\nAdvanced: ${title}\n` : `\n${title}\n`);
    expect(group).toBeGreaterThan(0);
    expect(help.indexOf(`\n  ${setting.flag}`, group)).toBeGreaterThan(group);
  }
});

test("no line of the help is wider than a terminal", () => {
  const widest = Math.max(
    ...toFullHelp()
      .split("\n")
      .map((line) => line.length),
  );
  expect(widest).toBeLessThanOrEqual(100);
});

test("an entry says what the value is, what it means and what it is by default", () => {
  expect(toFullHelp()).toContain(`\
  --max-tools <number>
      Maximum tools in a request, including those in namespaces. [512]
`);
  expect(toFullHelp()).toContain(`\
  --open
      Serve without keys even where other machines can reach the gateway.
`);
});

test("the help says what each engine is", () => {
  for (const kind of ENGINE_KINDS) expect(toFullHelp()).toContain(`  ${kind}\n      `);
});

test("the document has a row for every setting", () => {
  const document = toSettingsDocument();
  for (const { name, flag } of describedSettings())
    expect(document).toContain(`| \`${name}\` | \`${flag}\` |`);
});

test("the short help fits a terminal, and says how to get the rest", () => {
  const lines = SHORT_HELP.split("\n");
  expect(lines.length).toBeLessThanOrEqual(23);
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80);
  expect(SHORT_HELP).toContain("--help all");
});

test("the short help names only existing flags", () => {
  const flags = describedSettings().map(({ flag }) => flag);
  const known = new Set([...flags, "--config", "--help", "--version"]);
  const named = SHORT_HELP.match(/--[a-z-]+/g) ?? [];
  expect(named.filter((flag) => !known.has(flag))).toEqual([]);
});

test.each(["connect", "key", "config", "serve", "doctor", "store"])(
  "%s has a usage of its own",
  async (command) => {
    for (const args of [
      [command, "--help"],
      ["help", command],
      ["--help", command],
    ]) {
      const printed: string[] = [];
      await main(args, { ...QUIET_IO, print: (text) => printed.push(text) });
      expect(printed.join("")).toMatch(new RegExp(`^harmony-gateway ${command} `));
    }
  },
);

test.each(["maxBodyBytes", "max-body-bytes", "--max-body-bytes", "HARMONY_GATEWAY_MAX_BODY_BYTES"])(
  "--help %s explains the setting",
  async (word) => {
    const printed: string[] = [];
    await main(["--help", word], { ...QUIET_IO, print: (text) => printed.push(text) });
    expect(printed.join("")).toMatch(
      /^ {2}--max-body-bytes <bytes>\n {6}[^]*\n {6}Variable: HARMONY_GATEWAY_MAX_BODY_BYTES; in the file: maxBodyBytes$/,
    );
  },
);
