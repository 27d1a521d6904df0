/**
 * A constraint of each type, with a check of the text. The tiny model would not write any of these texts unconstrained.
 */
import type { Constraint } from "../../src/engines/engine.ts";

export interface Constrained {
  readonly constraint: Constraint;
  /** The prompt ends in the answer; otherwise the constraint covers the whole turn. */
  readonly startsInFinal: boolean;
  satisfies(text: string): boolean;
}

const schema = '{"type":"object","properties":{"a":{"enum":["Hello","bye"]}},"required":["a"]}';
const tag = JSON.stringify({
  type: "structural_tag",
  format: {
    type: "sequence",
    elements: [
      { type: "const_string", value: "<|channel|>final<|message|>" },
      { type: "json_schema", json_schema: JSON.parse(schema) },
    ],
  },
});

export const CONSTRAINED: readonly Constrained[] = [
  {
    constraint: { type: "json-schema", schema },
    startsInFinal: true,
    satisfies: (text) => /^\s*\{\s*"a"\s*:\s*"(Hello|bye)"/.test(text) && isJson(text),
  },
  {
    constraint: { type: "json-object" },
    startsInFinal: true,
    satisfies: (text) => /^\s*\{/.test(text),
  },
  {
    constraint: { type: "choice", options: ["bye", "good bye"] },
    startsInFinal: true,
    satisfies: (text) => ["bye", "good bye"].includes(text),
  },
  {
    constraint: { type: "grammar", grammar: 'root ::= "good " ("bye" | "night")' },
    startsInFinal: true,
    satisfies: (text) => /^good (bye|night)$/.test(text),
  },
  {
    constraint: { type: "lark", grammar: 'start: "good " ("bye" | "night")' },
    startsInFinal: true,
    satisfies: (text) => /^good (bye|night)$/.test(text),
  },
  {
    constraint: { type: "regex", pattern: "[0-9]{3}-[0-9]{2}" },
    startsInFinal: true,
    satisfies: (text) => /^[0-9]{3}-[0-9]{2}$/.test(text),
  },
  {
    constraint: { type: "structural-tag", tag },
    startsInFinal: false,
    satisfies: (text) => /^<\|channel\|>final<\|message\|>\s*\{\s*"a"/.test(text),
  },
  {
    constraint: {
      type: "token-grammar",
      grammar: `root ::= <[200005]> "analysis" <[200008]> !<[200007]>* <[200007]> <[200006]> "assistant" <[200005]> "final" <[200008]> "good bye"`,
    },
    startsInFinal: false,
    satisfies: (text) => /^<\|channel\|>analysis<\|message\|>.*<\|message\|>good bye$/s.test(text),
  },
];

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
