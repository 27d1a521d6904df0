/** Requests for approval are looked up in time that does not grow with their number. */
import { expect, test } from "vitest";
import { approvedCalls } from "../../../src/api/responses/mcp-items.ts";
import { toHistory } from "../../../src/api/responses/to-messages.ts";

type HistoryItem = Parameters<typeof approvedCalls>[0][number];

const NUMBER = 1000;

/** Requests, and answers in the opposite order. `reads` counts how often the id of a request was read. */
function askedAndAnswered() {
  const counter = { reads: 0 };
  const ids = Array.from({ length: NUMBER }, (_, index) => `mcpr_${index}`);
  const requests = ids.map((id): HistoryItem => ({
    type: "mcp-request",
    get id() {
      counter.reads++;
      return id;
    },
    server: "words",
    tool: id,
    body: "{}",
  }));
  const answers = ids.toReversed().map((requestId): HistoryItem => ({
    type: "mcp-response",
    requestId,
    approve: false,
    reason: undefined,
    param: "input[0]",
  }));
  return { counter, items: [...requests, ...answers] };
}

const unsupported = {
  kinds: "skip",
  mediaRules: { inMessages: "refuse", inResults: "refuse" },
} as const;

test("the prompt has each refused call once, and reads each request a few times", () => {
  const { counter, items } = askedAndAnswered();
  const { history } = toHistory(items, { unsupported, style: "flat" });
  expect(history.messages).toHaveLength(2 * NUMBER);
  expect(history.messages[0]?.recipient).toContain(`mcpr_${NUMBER - 1}`);
  expect(counter.reads).toBeLessThan(5 * NUMBER);
});

test("approved calls are found with a few reads of each request", () => {
  const { counter, items } = askedAndAnswered();
  expect(approvedCalls(items, [])).toEqual([]);
  expect(counter.reads).toBeLessThan(5 * NUMBER);
});

test("of several requests with the same id, the first counts", () => {
  const call = { server: "words", body: "{}" };
  const items: HistoryItem[] = [
    { type: "mcp-request", id: "mcpr_1", tool: "first", ...call },
    { type: "mcp-request", id: "mcpr_1", tool: "second", ...call },
    { type: "mcp-response", requestId: "mcpr_1", approve: false, reason: undefined, param: "" },
  ];
  const { history } = toHistory(items, { unsupported, style: "flat" });
  expect(history.messages[0]?.recipient).toContain("first");
});
