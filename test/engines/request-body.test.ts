import { expect, test } from "vitest";
import {
  type ConstraintMap,
  constraintTypes,
  toIdsBody,
  toJsonBody,
  toNativeConstraint,
} from "../../src/engines/request-body.ts";
import { promptOf, spelledPrompt } from "../helpers/spelled.ts";
import { requestText } from "../helpers/request-text.ts";

const IDS = [200006, 1428, 200008, 0, 201_087];
const prompt = promptOf(IDS);

test.each([
  ["with texts, values and other scripts", { schema: '{"a":"é世"}' }, { model: "m", é: "世" }, {}],
  ["without other members", {}, {}, {}],
  ["with undefined ones", { schema: undefined }, { model: undefined }, {}],
  ["with the operator's fields", {}, { model: "m" }, { model: null, priority: 2 }],
  ["whose prompt the operator replaces", {}, { model: "m" }, { prompt: [1] }],
  ["whose prompt the operator removes", {}, { model: "m" }, { prompt: null }],
])("a body of ids has the bytes of its text: %s", (_, texts, values, extra) => {
  const body = toIdsBody({ member: "prompt", prompt }, texts, values, extra);
  const text = toJsonBody({ prompt: `[${IDS.join(",")}]`, ...texts }, values, extra);
  expect(requestText(body)).toBe(text);
});

test("parts of a prompt are joined, and empty ones may be among them", () => {
  const bytes = (text: string) => new TextEncoder().encode(text);
  const toBody = (...parts: string[]) =>
    requestText(
      toIdsBody(
        { member: "prompt", prompt: { ...spelledPrompt(""), idsJson: () => parts.map(bytes) } },
        {},
        {},
      ),
    );
  expect(toBody(",1,2", "", ",3")).toBe('{"prompt":[1,2,3]}');
  expect(toBody("", ",1")).toBe('{"prompt":[1]}');
  expect(toBody()).toBe('{"prompt":[]}');
});

const MAP: ConstraintMap<string> = {
  "json-schema": ({ schema }) => `schema ${schema}`,
  "json-object": () => "object",
  choice: null,
  "structural-tag": null,
  "token-grammar": ({ grammar }) => `grammar ${grammar}`,
  grammar: null,
  lark: null,
  regex: null,
};

test("the capabilities of a map are its entries that convert", () => {
  expect(constraintTypes(MAP)).toEqual(["json-schema", "json-object", "token-grammar"]);
});

test("a constraint is converted by the entry of its type", () => {
  expect(toNativeConstraint(MAP, { type: "json-schema", schema: "{}" })).toBe("schema {}");
  expect(toNativeConstraint(MAP, { type: "token-grammar", grammar: "g" })).toBe("grammar g");
});

test("no constraint, and one without a native form, are undefined", () => {
  expect(toNativeConstraint(MAP, undefined)).toBeUndefined();
  expect(toNativeConstraint(MAP, { type: "choice", options: ["a"] })).toBeUndefined();
});
