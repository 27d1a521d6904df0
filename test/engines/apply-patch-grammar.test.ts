import { describe, expect, test } from "vitest";
import { toApplyPatchGrammar } from "../../src/engines/apply-patch-grammar.ts";
import { APPLY_PATCH_DEFINITION, APPLY_PATCH_RULES } from "../helpers/apply-patch.ts";

describe("the definition of apply_patch", () => {
  test("is known, and its root is a whole patch", () => {
    expect(toApplyPatchGrammar(APPLY_PATCH_DEFINITION)).toMatch(
      /^root ::= "\*\*\* Begin Patch\\n" hunk\+ "\*\*\* End Patch" "\\n"\?\n/,
    );
  });

  test("is known with other white space", () => {
    expect(
      toApplyPatchGrammar(APPLY_PATCH_DEFINITION.replaceAll(": ", ":   ").trim()),
    ).toBeDefined();
  });

  test("is known with a line for the environment", () => {
    const definition =
      "start: begin_patch environment_id? hunk+ end_patch\n" +
      `environment_id: "*** Environment ID: " filename LF\n${APPLY_PATCH_RULES}`;
    expect(toApplyPatchGrammar(definition)).toContain("environment? hunk+");
  });

  test.each([
    ["a rule is missing", APPLY_PATCH_DEFINITION.replace(/eof_line: .*\n/, "")],
    ["a rule is added", `${APPLY_PATCH_DEFINITION}rename_hunk: "*** Rename File: " filename LF\n`],
    ["a rule differs", APPLY_PATCH_DEFINITION.replace('"+" | "-"', '"+"')],
    ["the start is another", APPLY_PATCH_DEFINITION.replace("hunk+ end", "hunk end")],
    ["it is another language", 'start: "a"+'],
  ])("is another one when %s", (_, definition) => {
    expect(toApplyPatchGrammar(definition)).toBeUndefined();
  });
});
