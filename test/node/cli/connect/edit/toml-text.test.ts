import { expect, test } from "vitest";
import { mergeToml, type TomlPair } from "../../../../../src/node/cli/connect/edit/toml-text.ts";

function merge(text: string, pairs: readonly TomlPair[] = [["url", "u"]]): string {
  return mergeToml(text, { top: [["model", "m"]], table: ["providers", "our-own"], pairs });
}

const TABLE = '[providers.our-own]\nurl = "u"\n';

test.each([
  ["no text", "", `model = "m"\n\n${TABLE}`],
  [
    "pairs, comments and tables stay",
    '# mine\napproval = "never" # always\nmodel = "gpt-5" # best\n\n[mcp.x]\ncommand = "y"\n',
    `# mine\napproval = "never" # always\nmodel = "m" # best\n\n[mcp.x]\ncommand = "y"\n\n${TABLE}`,
  ],
  ["a file that begins with a table", "[mcp]\nx = 1\n", `model = "m"\n[mcp]\nx = 1\n\n${TABLE}`],
  ["no line break at the end", "a = 1", `a = 1\nmodel = "m"\n\n${TABLE}`],
  [
    "the table is there, with more in it",
    'model = "m"\n[providers.our-own] # ours\nurl = "old"\nwebsockets = true\n\n[other]\nurl = "o"\n',
    'model = "m"\n[providers.our-own] # ours\nurl = "u"\nwebsockets = true\n\n[other]\nurl = "o"\n',
  ],
  [
    "the table is there without the pair, and has tables below it",
    'model = "m"\n[providers."our-own"]\n\n[providers.our-own.headers]\nurl = "x"\n',
    'model = "m"\n[providers."our-own"]\nurl = "u"\n\n[providers.our-own.headers]\nurl = "x"\n',
  ],
  [
    "lines that look like pairs and tables, in values",
    `prompt = """\nmodel = "x"\n[providers.our-own]\n"quoted" \\"""\n"""\nlist = [\n  "a", # ]\n  [1, 2],\n]\nraw = '''\n[x\n'''\n`,
    `prompt = """\nmodel = "x"\n[providers.our-own]\n"quoted" \\"""\n"""\nlist = [\n  "a", # ]\n  [1, 2],\n]\nraw = '''\n[x\n'''\nmodel = "m"\n\n${TABLE}`,
  ],
  [
    "other forms of values and keys",
    `"model" = 'old' # x\nday = 1979-05-27 07:32:00\ntab = { a = "}", b = [1] }\na.b."c.d" = 1\n`,
    `"model" = "m" # x\nday = 1979-05-27 07:32:00\ntab = { a = "}", b = [1] }\na.b."c.d" = 1\n\n${TABLE}`,
  ],
  [
    "line breaks of Windows",
    "a = 1\r\n",
    'a = 1\r\nmodel = "m"\r\n\r\n[providers.our-own]\r\nurl = "u"\r\n',
  ],
])("%s", (_, text, expected) => {
  const merged = merge(text);
  expect(merged).toBe(expected);
  expect(merge(merged)).toBe(merged);
});

test("a pair that must not be there goes", () => {
  const text = 'model = "m"\n[providers.our-own]\nkey = "K"\nurl = "u"\n';
  expect(
    merge(text, [
      ["url", "u"],
      ["key", undefined],
    ]),
  ).toBe(text.replace('key = "K"\n', ""));
});

test.each([
  ['providers = { our-own = { url = "x" } }', "it writes providers in a form of its own"],
  ['providers.our-own.url = "x"', "it writes providers.our-own.url in a form of its own"],
  ['[providers]\nour-own = { url = "x" }', "it writes providers.our-own in a form of its own"],
  ["[[providers]]\nname = 1", "it has a list of tables [[providers]]"],
  ['a = 1\nb = "open', "line 2 is not TOML, or in a rare form of it"],
  ["a = [1, 2", "line 1 is not TOML, or in a rare form of it"],
  ["a = ]", "line 1 is not TOML, or in a rare form of it"],
  ["a =", "line 1 is not TOML, or in a rare form of it"],
  ["{}", "line 1 is not TOML, or in a rare form of it"],
  ['a = """open', "line 1 is not TOML, or in a rare form of it"],
])("%j is refused", (text, message) => {
  expect(() => merge(text)).toThrow(expect.objectContaining({ name: "EditError", message }));
});

test("white space within a value is read once", () => {
  const text = `day = 1979-05-27${" ".repeat(300_000)}07:32:00\n`;
  expect(merge(text).startsWith(text)).toBe(true);
});
