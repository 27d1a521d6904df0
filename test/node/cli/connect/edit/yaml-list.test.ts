import { expect, test } from "vitest";
import { parse } from "yaml";
import { insertYamlItems } from "../../../../../src/node/cli/connect/edit/yaml-list.ts";

const insert = (text: string, name = "new") =>
  insertYamlItems(text, "models", [[`name: ${name}`, "roles: [chat]"]]);
const NEW = { name: "new", roles: ["chat"] };

test.each([
  ["no text", "", [NEW]],
  ["no list", "name: mine # me\n\nrules:\n  - Be brief\n", [NEW]],
  [
    "a list",
    "models:\n  # first\n  - name: a\n    x: 1\n  - name: b\nrules: []\n",
    [NEW, { name: "a", x: 1 }, { name: "b" }],
  ],
  [
    "a list without indentation",
    "---\nmodels: # all\n- name: a\nrules: []\n",
    [NEW, { name: "a" }],
  ],
  ["a list without items", "models:\nname: mine\n", [NEW]],
  ["line breaks of Windows", "name: x\r\nmodels:\r\n  - name: a\r\n", [NEW, { name: "a" }]],
  ["no line break at the end", "name: x", [NEW]],
])("%s", (_, text, models) => {
  const edited = insert(text);
  expect(parse(edited)).toEqual({ ...parse(text), models });
  const ours = new Set(edited.split("\n").filter((line) => !text.split("\n").includes(line)));
  // All other lines are unchanged.
  const rest = edited.split("\n").filter((line) => !ours.has(line));
  expect(rest.join("\n").trimEnd()).toBe(text.trimEnd());
  expect(parse(insert(edited, "other"))).toEqual({
    ...parse(text),
    models: [{ ...NEW, name: "other" }, ...models.slice(1)],
  });
});

test.each([
  ["models: []", "it writes models in a form of its own"],
  ["models: [{name: a}]\n", "it writes models in a form of its own"],
  ['"models":\n  - a\n', "it writes models in a form of its own"],
  ["models: &x\n  - a\n", "it writes models in a form of its own"],
  ["models:\n  a: 1\n", "what follows models: is no list"],
  ["{ models: [] }", "it is no plain mapping"],
  ["- a\n", "it is no plain mapping"],
  ["a: 1\n---\nb: 2\n", "it has several documents"],
  [
    "# harmony-gateway: begin (written by connect)\n",
    'the line "# harmony-gateway: end" is missing',
  ],
])("%j is refused", (text, message) => {
  expect(() => insert(text)).toThrow(expect.objectContaining({ name: "EditError", message }));
});
