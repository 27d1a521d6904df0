/** Hostile Markdown costs the lexer a bounded amount of work, and ordinary Markdown is read whole. */
import { Lexer, type Token } from "marked";
import { expect, onTestFinished, test, vi } from "vitest";
import { MAX_WORK, toTokens, workOf } from "../../web/chat/bounded-lexer.ts";

/** The work of all texts that marked itself was given. */
function countWork(): () => number {
  const spied = vi.spyOn(Lexer.prototype, "inlineTokens");
  onTestFinished(() => spied.mockRestore());
  return () => spied.mock.calls.reduce((sum, [text]) => sum + workOf(text), 0);
}

test.each(["_a_", "_a*", "a_", "!", "__a_", "*a*", "[a](b", "~a~", "<a", "`a``"])(
  "30 KB of %j in one paragraph are shown as written",
  (unit) => {
    const count = countWork();
    const text = unit.repeat(30_000 / unit.length);
    expect([...toTokens(text)]).toMatchObject([
      { type: "paragraph", tokens: [{ type: "text", text }] },
    ]);
    expect(count()).toBe(0);
  },
);

test.each([
  ["a mail address", `${"a.".repeat(50_000)}@`],
  ["an address with entities at its end", `http://a.b/${"&a;".repeat(30_000)}`],
  ["an address with brackets at its end", `www.a.b/${")".repeat(90_000)}`],
])("%s of 100 KB is shown as written", (_, text) => {
  expect([...toTokens(text)]).toMatchObject([
    { type: "paragraph", tokens: [{ type: "text", text }] },
  ]);
});

test.each([
  ["quotations, each less deep than the one above", less(60)],
  ["lists in lists", `${"- ".repeat(50_000)}a`],
  ["quotations in lists", `${"- > ".repeat(25_000)}a`],
])("%s are read a bounded number of times", (_, text) => {
  const spied = vi.spyOn(Lexer.prototype, "blockTokens");
  onTestFinished(() => spied.mockRestore());
  expect(toTokens(text).map(({ raw }) => raw)).toEqual([text]);
  expect(spied.mock.calls.length).toBeLessThanOrEqual(MAX_WORK / 400);
});

/** `> > > a`, `> > a`, `> a` */
function less(lines: number): string {
  return Array.from({ length: lines }, (_, index) => `${"> ".repeat(lines - index)}a`).join("\n");
}

test("many paragraphs share one bound", () => {
  const count = countWork();
  const tokens = toTokens(`${"_a_".repeat(300)}\n\n`.repeat(120));
  expect(count()).toBeLessThanOrEqual(MAX_WORK);
  expect(count()).toBeGreaterThan(MAX_WORK / 2);
  expect(tokens.at(0)).not.toMatchObject({ tokens: [{ type: "text" }] });
  expect(tokens.findLast(({ type }) => type === "paragraph")).toMatchObject({
    tokens: [{ type: "text" }],
  });
});

test("200 KB of ordinary Markdown are read whole", () => {
  const paragraph = `${"Some words with **weight**, a `name` and a [link](https://example.com). ".repeat(5)}\n\n`;
  const text = paragraph.repeat(200_000 / paragraph.length);
  const strong = (tokens: readonly Token[]): number =>
    tokens.reduce(
      (sum, token) =>
        sum + Number(token.type === "strong") + strong(("tokens" in token && token.tokens) || []),
      0,
    );
  const all = text.match(/\*\*weight\*\*/g)?.length;
  expect(strong(toTokens(text))).toBe(all);
});
