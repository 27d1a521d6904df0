import { expect, test, vi } from "vitest";
import { ResponseBuilder } from "../../../src/api/responses/response-builder.ts";
import { createResponseWriter } from "../../../src/api/responses/to-response.ts";
import { content, end, part } from "./turn-events.ts";

function createBuilder() {
  const write = createResponseWriter(
    { model: "m", input: "Hello!" },
    { id: "resp_0", createdAt: 0, model: "m", effort: "medium", parallelToolCalls: true },
  );
  const toResponse = vi.fn<typeof write>(write);
  const builder = new ResponseBuilder({
    toResponse,
    toItemId: (prefix, index) => `${prefix}_${index}`,
    listings: [],
    targets: new Map(),
    now: () => 1,
    showReasoning: true,
    includes: { sources: false, results: false, outputs: false },
    queued: false,
    isCodex: false,
    isUnlimited: false,
  });
  builder.push({ type: "start", promptTokens: 10 });
  return { toResponse, builder };
}

test("S14: items are appended to one list, not copied with each item", () => {
  const { toResponse, builder } = createBuilder();
  for (let items = 0; items < 100; items++) {
    for (const event of part(content, "x")) builder.push(event);
    builder.response();
  }
  const lists = new Set(toResponse.mock.calls.map(([{ output }]) => output));
  expect(lists.size).toBe(1);
});

test("a response that was read does not change afterwards", () => {
  const { builder } = createBuilder();
  for (const event of part(content, "one")) builder.push(event);
  for (const event of part(content, "two")) builder.push(event);
  const early = builder.response();
  expect(early.output).toHaveLength(1);
  builder.push(end("stop"));
  expect(early.output).toHaveLength(1);
  expect(builder.response().output).toHaveLength(2);
});
