import { expect, test } from "vitest";
import { RequestError } from "../../src/api/errors.ts";
import { checkLimits } from "../../src/api/limits.ts";

const LIMITS = { maxMessages: 3, maxTools: 2, maxDepth: 4 };

function refusal(body: object): { message: string; param: string | null } | undefined {
  try {
    checkLimits(body, LIMITS);
  } catch (error) {
    if (error instanceof RequestError) return { message: error.message, param: error.param };
    throw error;
  }
  return undefined;
}

test.each<[string, object]>([
  ["as many messages as allowed", { messages: [1, 2, 3] }],
  ["an input that is text", { input: "a long text is no list" }],
  ["lists that are not counted", { stop: [1, 2, 3, 4, 5] }],
  ["nesting to the last level allowed", { a: [[["text"]]] }],
  ["an empty container at the last level", { a: [[{}]] }],
])("%s may pass", (_, body) => {
  expect(refusal(body)).toBeUndefined();
});

test.each<[object, string, string]>([
  [{ messages: [1, 2, 3, 4] }, "messages", "messages: has 4 entries, more than the 3 allowed."],
  [{ input: [1, 2, 3, 4] }, "input", "input: has 4 entries, more than the 3 allowed."],
  [{ tools: [1, 2, 3] }, "tools", "tools: has 3 entries, more than the 2 allowed."],
  [{ functions: [1, 2, 3] }, "functions", "functions: has 3 entries, more than the 2 allowed."],
  [{ a: [[[{}]]] }, "a", "a: is nested deeper than 4 levels."],
])("%j is refused by name", (body, param, message) => {
  expect(refusal(body)).toEqual({ message, param });
});

test("nesting that would overflow a recursive check is refused", () => {
  const depth = 200_000;
  const body = JSON.parse(`{"a":${"[".repeat(depth)}${"]".repeat(depth)}}`);
  expect(refusal(body)?.param).toBe("a");
});
