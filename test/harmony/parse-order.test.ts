/** Text outside messages keeps its place, and what is left of a broken header is never shown. */
import { expect, test } from "vitest";
import { readText } from "./parse-cases.ts";

const ANALYSIS = "<|start|>assistant<|channel|>analysis<|message|>";
const FINAL = "<|start|>assistant<|channel|>final<|message|>";

function partsOf(text: string): string[] {
  return readText(text).parts.map((part) =>
    part.type === "tool_call" ? part.name : `${part.type} ${part.text}`,
  );
}

test.each([
  [
    `<|channel|>analysis<|message|>one<|end|> two ${ANALYSIS}three<|end|>${FINAL}four<|return|>`,
    ["reasoning one", "reasoning two", "reasoning three", "content four"],
  ],
  [
    `one${ANALYSIS}two<|end|> three ${ANALYSIS}four<|end|>${FINAL}five<|return|>`,
    ["reasoning one", "reasoning two", "reasoning three", "reasoning four", "content five"],
  ],
  [`The answer.${ANALYSIS}Analysis.<|end|>`, ["content The answer.", "reasoning Analysis."]],
])("%j keeps its order", (text, expected) => {
  expect(partsOf(text)).toEqual(expected);
});

test("undecided text is limited", () => {
  const text = `one${ANALYSIS}${"word ".repeat(10_000)}<|end|>`;
  expect(readText(text).parts.map(({ type }) => type)).toEqual(["reasoning", "reasoning"]);
});

test.each([
  `<|channel|>commentary 42<|end|>${FINAL}Hi<|return|>`,
  `<|channel|>commentary42<|end|>${FINAL}Hi<|return|>`,
  `<|channel|>commentary? 7 ?<|end|>${FINAL}Hi<|return|>`,
  `<|channel|>commentary 1.5 ${FINAL}Hi<|return|>`,
])("%j shows no number as a preamble", (text) => {
  expect(partsOf(text)).toEqual(["content Hi"]);
});

test("a number is an answer where an answer is possible", () => {
  expect(partsOf("<|channel|>final 42<|return|>")).toEqual(["content 42"]);
  expect(partsOf("<|channel|>commentary<|message|>42<|end|>")).toEqual(["commentary 42"]);
});
