/** Which text of an answer is a formula. */
import type { Token } from "marked";
import { expect, test } from "vitest";
import { MAX_WORK, toTokens, workOf } from "../../web/chat/bounded-lexer.ts";

function formulasIn(text: string): string[] {
  const found: string[] = [];
  const visit = (tokens: readonly Token[]) => {
    for (const token of tokens) {
      if (token.type === "formula" && "tex" in token) {
        found.push(
          `${"isDisplay" in token && token.isDisplay ? "display" : "inline"}: ${token.tex}`,
        );
      }
      if (token.type === "list")
        visit(token.items.flatMap(({ tokens: own }: { tokens: Token[] }) => own));
      if ("tokens" in token) visit(token.tokens ?? []);
    }
  };
  visit(toTokens(text));
  return found;
}

test.each([
  ["dollars", "so $a_1 * b_2$ and $c_1 * d$.", ["inline: a_1 * b_2", "inline: c_1 * d"]],
  ["parentheses", String.raw`where \(x^2\) holds`, ["inline: x^2"]],
  [
    "a block in brackets",
    "thus\n\\[\n\\frac{a}{b}\n= c\n- d\n\\]\nand",
    ["display: \n\\frac{a}{b}\n= c\n- d\n"],
  ],
  ["a block in dollars", "$$\na \\\\\nb\n$$", ["display: \na \\\\\nb\n"]],
  ["a block in a sentence", "that $$x$$ is", ["display: x"]],
  ["in a list and bold", "- **$x$** is\n- \\(y\\)", ["inline: x", "inline: y"]],
  ["in a table", "| a | b |\n|---|---|\n| $x$ | 1 |\n\n$y$", ["inline: y"]],
  ["an escaped dollar inside", String.raw`$5\$ + x$`, [String.raw`inline: 5\$ + x`]],
])("%s", (_, text, expected) => {
  expect(formulasIn(text)).toEqual(expected);
});

test.each([
  ["prices", "It costs $5 and then $10, or $5-$10."],
  ["one dollar", "echo $HOME"],
  ["code", "`$x$` and\n\n```\n$$y$$\n```"],
  ["an escaped dollar", String.raw`\$x\$ is text`],
  ["an open block, as while it is written", "\\[\n\\frac{a}{b}"],
  ["dollars in two paragraphs", "one $a\n\nand b$ two"],
  ["a link whose text begins with a bracket", "\\[not a formula"],
])("%s: no formula", (_, text) => {
  expect(formulasIn(text)).toEqual([]);
});

test("100 KB of formulas that end paragraphs cost a bounded amount of work", () => {
  expect(formulasIn("x\n\\[a\\]\n".repeat(14_000)).length).toBeLessThan(100);
});

test.each(["$", "\\(", "\\[", "$$", "$a", "\n$$\n", "\n\\[a"])(
  "100 KB of %j cost a bounded amount of work",
  (unit) => {
    const text = unit.repeat(100_000 / unit.length);
    expect(workOf(text)).toBeGreaterThan(MAX_WORK);
    expect(formulasIn(text)).toEqual([]);
  },
);
