import { describe, expect, test } from "vitest";
import { chatRequest } from "../../../src/api/chat-completions/request.ts";
import { describeExpected } from "../../../src/api/request/describe-issue.ts";
import { type Parser, parseWith } from "../../../src/api/request/parse-request.ts";
import { countRequest, messagesRequest } from "../../../src/api/messages/request.ts";
import {
  compactRequest,
  inputTokensRequest,
  responsesRequest,
} from "../../../src/api/responses/request.ts";

const messages = [{ role: "user", content: "Hello!" }];

const WRONG = [null, true, -1, 1e300, "", "x", "x".repeat(300), [], ["x"], [{}], {}, { type: "x" }];

describe.each([
  ["chatRequest", chatRequest, { messages }],
  ["responsesRequest", responsesRequest, { model: "m", input: messages }],
  ["inputTokensRequest", inputTokensRequest, { model: "m", input: "Hello!" }],
  ["compactRequest", compactRequest, { model: "m", input: "Hello!" }],
  ["messagesRequest", messagesRequest, { model: "m", messages, max_tokens: 1 }],
  ["countRequest", countRequest, { model: "m", messages }],
])("%s, field by field, says what the whole schema says", (_, schema, usual) => {
  const names = Object.keys(schema.whole().shape);

  test.each([[{}], [[]], ["x"], [usual], [{ ...usual, unknown: 1 }]])("of %j", (body) => {
    expect(read(schema, body)).toEqual(read(schema.whole(), body));
  });

  test.each(names)("of %s missing, wrong, or beside another wrong one", (name) => {
    const missing = Object.fromEntries(Object.entries(usual).filter(([key]) => key !== name));
    const bodies = WRONG.flatMap((value) => [
      { ...usual, [name]: value },
      ...names.map((other) => ({ [other]: value, ...usual, [name]: value })),
    ]);
    for (const body of [missing, ...bodies]) {
      expect(read(schema, body)).toEqual(read(schema.whole(), body));
    }
  });
});

test("a problem outside any field is reported for the whole request", () => {
  expect(() => parseWith(chatRequest, [])).toThrow(
    expect.objectContaining({
      param: null,
      message: "The request must be an object, but it is an empty array.",
    }),
  );
});

/** The parsed body, or the first issue, which is the one in the error. */
function read(schema: Parser<unknown>, body: unknown): unknown {
  const result = schema.safeParse(body, { error: describeExpected });
  return result.success ? { data: result.data } : { issue: result.error.issues[0] };
}
