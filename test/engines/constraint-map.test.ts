import { expect, test } from "vitest";

import {
  type ConstraintMap,
  constraintTypes,
  toNativeConstraint,
} from "../../src/engines/request-body.ts";

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
