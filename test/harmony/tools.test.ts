import { describe, expect, test, vi } from "vitest";
import {
  isJsonObject,
  parseJson,
  type ToolFunction,
  type ToolNamespace,
  toolsSection,
} from "../../src/harmony/index.ts";
import { commentLines } from "../../src/harmony/tools.ts";

/** The signature of a function `f` that takes arguments of this schema. */
function signature(schema: string): string {
  const section = toolsSection([
    namespace("functions", [{ name: "f", description: "", parameters: parseJson(schema) }]),
  ]);
  return section.slice(section.indexOf("type f"), section.indexOf("\n\n}"));
}

function namespace(key: string, functions: readonly ToolFunction[] = []): ToolNamespace {
  return { key, name: key, functions };
}

describe("the tools section", () => {
  test("shows a namespace as in the reference", () => {
    const parameters = parseJson(
      '{"type":"object","required":["city"],"properties":{"city":{"type":"string","description":"Name"},"days":{"type":"integer","default":3}}}',
    );
    const functions = [
      { name: "forecast", description: "Looks ahead.\r\n\nNot far.\n", parameters },
      { name: "now", description: "" },
    ];
    expect(
      toolsSection([{ key: "functions", name: "functions", description: "Weather.", functions }]),
    ).toBe(`# Tools

## functions

// Weather.
namespace functions {

// Looks ahead.
// 
// Not far.
type forecast = (_: {
// Name
city: string,
days?: number, // default: 3
}) => any;

type now = () => any;

} // namespace functions`);
  });

  test("a namespace without functions is a heading and its description, bare", () => {
    const browser = { key: "browser", name: "browser", description: "Opens pages.\n\nSlowly.\n" };
    expect(toolsSection([{ ...browser, functions: [] }, namespace("python")])).toBe(
      "# Tools\n\n## browser\n\nOpens pages.\n\nSlowly.\n\n## python\n",
    );
  });

  test("namespaces are sorted by the UTF-8 bytes of their keys, and show their names", () => {
    // In UTF-16 the emoji comes before the private-use and the full-width character.
    const keys = ["b", "🙂", "", "\ue000", "ＦＦ", "B", "ba", "a"];
    const namespaces = keys.map((key) => ({ ...namespace(key), name: `(${key})` }));
    const shown = toolsSection(namespaces)
      .split("\n")
      .filter((line) => line.startsWith("## "));
    expect(shown).toEqual(
      ["", "B", "a", "b", "ba", "\ue000", "ＦＦ", "🙂"].map((key) => `## (${key})`),
    );
  });

  test("of namespaces with the same key the last one counts", () => {
    const twice = [namespace("f", [{ name: "old", description: "" }]), namespace("f")];
    expect(toolsSection(twice)).toBe("# Tools\n\n## f\n");
  });

  test("names and descriptions are not escaped", () => {
    const section = toolsSection([namespace("n {", [{ name: "<|end|> x", description: "*/ }" }])]);
    expect(section).toContain("namespace n { {\n\n// */ }\ntype <|end|> x = () => any;\n");
  });
});

describe("a schema as a type", () => {
  test.each([
    ["null", "type f = () => any;"],
    ["{}", "type f = (_: any) => any;"],
    ["true", "type f = (_: any) => any;"],
    ["[]", "type f = (_: any) => any;"],
    ['{"type":"null"}', "type f = (_: any) => any;"],
    ['{"type":"object"}', "type f = (_: {\n}) => any;"],
    ['{"type":"string","const":"a"}', "type f = (_: string) => any;"],
    ['{"type":"string","enum":["a",1,"b"]}', 'type f = (_: "a" | "b") => any;'],
    ['{"type":"string","enum":[1]}', "type f = (_: string) => any;"],
    ['{"type":"integer","enum":[1]}', "type f = (_: number) => any;"],
    ['{"type":["integer","null",1,"x"]}', "type f = (_: number | null | x) => any;"],
    ['{"type":[1]}', "type f = (_: any) => any;"],
    ['{"type":"array"}', "type f = (_: Array<any>) => any;"],
    ['{"type":"array","items":{}}', "type f = (_: any[]) => any;"],
    [
      '{"type":"array","items":{"type":"string","enum":["a","b"]}}',
      'type f = (_: "a" | "b"[]) => any;',
    ],
    ['{"anyOf":[{"type":"string"}]}', "type f = (_: any) => any;"],
    ['{"oneOf":{},"type":"string"}', "type f = (_: string) => any;"],
    ['{"oneOf":[]}', "type f = (_: ) => any;"],
    [
      '{"oneOf":[{"type":"string","enum":["q\\"q"],"default":"q\\"q"},{"type":"string","default":"q\\"q"}]}',
      'type f = (_: \n | "q"q" // default: "q\\"q"\n | string // default: "q"q") => any;',
    ],
  ])("%s is %j", (schema, shown) => {
    expect(signature(schema)).toBe(shown);
  });

  test.each([
    // A property `p` and its lines.
    [
      '{"type":"string","title":"T","description":"D","examples":["x",1]}',
      '// T\n//\n// D\n// Examples:\n// - "x"\np?: string,\n',
    ],
    ['{"type":"number","examples":[1]}', "// Examples:\np?: number,\n"],
    ['{"type":"string","description":""}', "// \np?: string,\n"],
    ['{"type":"string","nullable":true}', "p?: string | null,\n"],
    ['{"type":"string","nullable":true,"enum":["null"]}', 'p?: "null",\n'],
    ['{"type":"string","default":"a\\nb"}', 'p?: string, // default: "a\nb"\n'],
    ['{"type":"string","default":"a","enum":["a"]}', 'p?: "a", // default: a\n'],
    ['{"type":"string","default":"a","enum":[]}', 'p?: string, // default: "a"\n'],
    ['{"default":{"b":1.0,"a":[null]}}', 'p?: any, // default: {"b":1.0,"a":[null]}\n'],
    ["true", "p?: any,\n"],
    // A oneOf that is no list hides description and default.
    ['{"oneOf":1,"type":"string","description":"D","default":1}', "p?: string,\n"],
    // An object's own description stands twice, and the second time inside the type.
    ['{"type":"object","description":"D"}', "// D\np?:     // D\n{\n    },\n"],
    [
      '{"type":"object","properties":{"q":{"type":"object","properties":{"r":{}}}}}',
      "p?: {\n    q?: {\n        r?: any,\n        },\n    },\n",
    ],
    [
      '{"oneOf":[{"type":"string","description":"A"},{"description":"B","default":1}],"description":"P","default":"d"}',
      '// P\n// default: "d"\np?:\n | string\n | any // B default: 1\n,\n',
    ],
    // A description that property and first variant share is not printed.
    [
      '{"oneOf":[{"description":"P"},{"description":"P"}],"description":"P"}',
      "p?:\n | any\n | any\n,\n",
    ],
    ['{"oneOf":[{"type":"string","description":"A"}]}', "p?:\n | string // A\n,\n"],
    ['{"oneOf":[],"nullable":true}', "p?:\n,\n"],
    ['{"oneOf":[{"type":"string","nullable":true}],"nullable":true}', "p?:\n | string | null\n,\n"],
    [
      '{"type":"array","items":{"oneOf":[{"type":"string"},{"default":1}]}}',
      "p?: \n     | string\n     | any // default: 1[],\n",
    ],
  ])("property %s", (property, shown) => {
    const schema = `{"type":"object","properties":{"p":${property}}}`;
    expect(signature(schema)).toBe(`type f = (_: {\n${shown}}) => any;`);
  });

  test("a property in `required` has no question mark", () => {
    expect(signature('{"type":"object","properties":{"p":{},"q":{}},"required":["q",1,"x"]}')).toBe(
      "type f = (_: {\np?: any,\nq: any,\n}) => any;",
    );
  });

  test("prints a schema once for as long as it is kept, and names and descriptions anew", () => {
    const parameters = parseJson('{"type":"object"}');
    if (!isJsonObject(parameters)) throw new TypeError("not an object");
    const read = vi.spyOn(parameters, "get");
    const named = (name: string) => [{ name, description: name, parameters }];
    const first = toolsSection([namespace("functions", named("one"))]);
    const reads = read.mock.calls.length;
    expect(toolsSection([namespace("functions", named("two"))])).toBe(
      first.replaceAll("one", "two"),
    );
    expect([reads > 0, read.mock.calls.length]).toEqual([true, reads]);
  });
});

test.each([
  ["", []],
  ["a", ["// a"]],
  ["\n", ["// "]],
  ["\n\n", ["// ", "// "]],
  ["a\r\nb", ["// a", "// b"]],
  ["a\r\n", ["// a"]],
  ["a\r", ["// a\r"]],
  ["a\r\r\n\rb\n", ["// a\r", "// \rb"]],
])("the lines of a comment: %j", (text, lines) => {
  expect(commentLines(text).join("\n")).toBe(lines.join("\n"));
});
