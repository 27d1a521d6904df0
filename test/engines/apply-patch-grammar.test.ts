import { describe, expect, test } from "vitest";
import { toApplyPatchGrammar } from "../../src/engines/apply-patch-grammar.ts";

const RULES = `begin_patch: "*** Begin Patch" LF
end_patch: "*** End Patch" LF?

hunk: add_hunk | delete_hunk | update_hunk
add_hunk: "*** Add File: " filename LF add_line+
delete_hunk: "*** Delete File: " filename LF
update_hunk: "*** Update File: " filename LF change_move? change?

filename: /(.+)/
add_line: "+" /(.*)/ LF -> line

change_move: "*** Move to: " filename LF
change: (change_context | change_line)+ eof_line?
change_context: ("@@" | "@@ " /(.+)/) LF
change_line: ("+" | "-" | " ") /(.*)/ LF
eof_line: "*** End of File" LF

%import common.LF
`;
const DEFINITION = `start: begin_patch hunk+ end_patch\n${RULES}`;

describe("the definition of apply_patch", () => {
  test("is known, and its root is a whole patch", () => {
    expect(toApplyPatchGrammar(DEFINITION)).toMatch(
      /^root ::= "\*\*\* Begin Patch\\n" hunk\+ "\*\*\* End Patch" "\\n"\?\n/,
    );
  });

  test("is known with other white space", () => {
    expect(toApplyPatchGrammar(DEFINITION.replaceAll(": ", ":   ").trim())).toBeDefined();
  });

  test("is known with a line for the environment", () => {
    const definition =
      "start: begin_patch environment_id? hunk+ end_patch\n" +
      `environment_id: "*** Environment ID: " filename LF\n${RULES}`;
    expect(toApplyPatchGrammar(definition)).toContain("environment? hunk+");
  });

  test.each([
    ["a rule is missing", DEFINITION.replace(/eof_line: .*\n/, "")],
    ["a rule is added", `${DEFINITION}rename_hunk: "*** Rename File: " filename LF\n`],
    ["a rule differs", DEFINITION.replace('"+" | "-"', '"+"')],
    ["the start is another", DEFINITION.replace("hunk+ end", "hunk end")],
    ["it is another language", 'start: "a"+'],
  ])("is another one when %s", (_, definition) => {
    expect(toApplyPatchGrammar(definition)).toBeUndefined();
  });
});
