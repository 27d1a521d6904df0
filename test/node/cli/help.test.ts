import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ENGINE_KINDS, settingsSchema } from "../../../src/index.ts";
import { runCommand } from "../../helpers/command-io.ts";

const helpOf = async (...args: string[]) => (await runCommand([...args, "--help"])).printed;
const FULL = await helpOf("all");
const SHORT = await helpOf();

/** The generated page of settings: a section of each group, and another one of its advanced settings. */
const DOCUMENT = readFileSync(join(import.meta.dirname, "../../../docs/settings.md"), "utf8");
const SETTINGS = DOCUMENT.split(/^(?=##)/m).flatMap((section) => {
  const [, level = "", title = ""] = /^(#+) (.*)/.exec(section) ?? [];
  return Array.from(section.matchAll(/^\| `(\w+)` \| `(--[\w-]+)` \|/gm), (row) => {
    const [, name = "", flag = ""] = row;
    return { name, flag, heading: level === "###" ? `Advanced: ${title}` : title };
  });
});

test("the document has a row for every setting", () => {
  const names = SETTINGS.map(({ name }) => name);
  expect(names.toSorted()).toEqual(Object.keys(settingsSchema.unwrap().shape).toSorted());
});

test("the help has every setting, under its group", () => {
  for (const { flag, heading } of SETTINGS) {
    const group = FULL.indexOf(`\n${heading}\n`);
    expect(group).toBeGreaterThan(0);
    expect(FULL.indexOf(`\n  ${flag}`, group)).toBeGreaterThan(group);
  }
});

test("no line of the help is wider than a terminal", () => {
  const widest = Math.max(...FULL.split("\n").map((line) => line.length));
  expect(widest).toBeLessThanOrEqual(100);
});

test("an entry has the form of the value, its meaning and its default", () => {
  expect(FULL).toContain(`\
  --max-tools <number>
      Maximum tools in a request, including those in namespaces. [512]
`);
  expect(FULL).toContain(`\
  --open
      Serve without keys even where other machines can reach the gateway.
`);
});

test("the help describes each engine", () => {
  for (const kind of ENGINE_KINDS) expect(FULL).toContain(`  ${kind}\n      `);
});

test("the short help fits a terminal, and says how to get the rest", () => {
  const lines = SHORT.split("\n");
  expect(lines.length).toBeLessThanOrEqual(23);
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80);
  expect(SHORT).toContain("--help all");
});

test("the short help names only existing flags", () => {
  const flags = SETTINGS.map(({ flag }) => flag);
  const known = new Set([...flags, "--config", "--help", "--version"]);
  const named = SHORT.match(/--[a-z-]+/g) ?? [];
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
      const { printed } = await runCommand(args);
      expect(printed).toMatch(new RegExp(`^harmony-gateway ${command} `));
    }
  },
);

test.each(["maxBodyBytes", "max-body-bytes", "--max-body-bytes", "HARMONY_GATEWAY_MAX_BODY_BYTES"])(
  "--help %s explains the setting",
  async (word) => {
    const { printed } = await runCommand(["--help", word]);
    expect(printed).toMatch(
      /^ {2}--max-body-bytes <bytes>\n {6}[^]*\n {6}Variable: HARMONY_GATEWAY_MAX_BODY_BYTES; in the file: maxBodyBytes$/,
    );
  },
);
