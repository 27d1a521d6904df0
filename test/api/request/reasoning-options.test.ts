import { describe, expect, test } from "vitest";
import { toReasoningOptions } from "../../../src/api/request/reasoning-options.ts";

type RequestedReasoning = Parameters<typeof toReasoningOptions>[0];
type Shorthand = Parameters<typeof toReasoningOptions>[1];

/** `medium`, `none`; with a budget `low/100`; hidden `medium, excluded`. */
function spell({
  effort,
  enabled,
  maxTokens,
  exclude,
}: ReturnType<typeof toReasoningOptions>): string {
  const budget = maxTokens === undefined ? "" : `/${maxTokens}`;
  return (enabled ? effort : "none") + budget + (exclude ? ", excluded" : "");
}

const understood: [RequestedReasoning, Shorthand, string][] = [
  [{}, {}, "medium"],
  [{ effort: null, max_tokens: null, exclude: null, enabled: null }, {}, "medium"],
  [{}, { effort: null, include: null }, "medium"],
  [{ enabled: true }, {}, "medium"],
  [{ effort: "minimal" }, {}, "low"],
  [{ effort: "low" }, {}, "low"],
  [{ effort: "medium" }, {}, "medium"],
  [{ effort: "high" }, {}, "high"],
  [{ effort: "xhigh" }, {}, "high"],
  [{ effort: "max" }, {}, "high"],
  [{ effort: "none" }, {}, "none"],
  [{ enabled: false }, {}, "none"],
  [{ enabled: false, effort: "none" }, {}, "none"],
  [{ enabled: true, effort: "high" }, {}, "high"],
  [{}, { effort: "minimal" }, "low"],
  [{}, { effort: "none" }, "none"],
  [{}, { effort: "max" }, "high"],
  [{ effort: "low" }, { effort: "low" }, "low"],
  [{ enabled: true }, { effort: "high" }, "high"],
  [{ max_tokens: 1 }, {}, "low/1"],
  [{ max_tokens: 1024 }, {}, "low/1024"],
  [{ max_tokens: 1025 }, {}, "medium/1025"],
  [{ max_tokens: 8192 }, {}, "medium/8192"],
  [{ max_tokens: 8193 }, {}, "high/8193"],
  [{ max_tokens: 0 }, {}, "none/0"],
  [{ max_tokens: 2000, enabled: true }, {}, "medium/2000"],
  [{ max_tokens: 0, enabled: false }, {}, "none/0"],
  [{ exclude: true }, {}, "medium, excluded"],
  [{ exclude: true, effort: "none" }, {}, "none, excluded"],
  [{}, { include: false }, "medium, excluded"],
  [{}, { include: true }, "medium"],
  [{ exclude: false }, { include: false }, "medium"],
  [{ exclude: true }, { include: true }, "medium, excluded"],
];

test.each(understood)("%j with %j is %s", (reasoning, shorthand, expected) => {
  expect(spell(toReasoningOptions(reasoning, shorthand))).toBe(expected);
});

describe("contradictions are refused with the field at fault", () => {
  test.each<[RequestedReasoning, Shorthand, string]>([
    [{ effort: "low" }, { effort: "high" }, "reasoning_effort"],
    [{ effort: "none" }, { effort: "low" }, "reasoning_effort"],
    [{ effort: "low", max_tokens: 100 }, {}, "reasoning.max_tokens"],
    [{ effort: "none", max_tokens: 100 }, {}, "reasoning.max_tokens"],
    [{ max_tokens: 100 }, { effort: "low" }, "reasoning_effort"],
    [{ enabled: true, effort: "none" }, {}, "reasoning.enabled"],
    [{ enabled: true }, { effort: "none" }, "reasoning.enabled"],
    [{ enabled: false, effort: "low" }, {}, "reasoning.enabled"],
    [{ enabled: false }, { effort: "low" }, "reasoning.enabled"],
    [{ enabled: false, max_tokens: 100 }, {}, "reasoning.enabled"],
  ])("%j with %j: %s", (reasoning, shorthand, param) => {
    expect(() => toReasoningOptions(reasoning, shorthand)).toThrow(
      expect.objectContaining({ status: 400, param }),
    );
  });
});
