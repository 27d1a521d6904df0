/** The inspector's filter, its address, and the numbers over what it shows. */
import { describe, expect, test } from "vitest";
import {
  fromParameters,
  matches,
  parseFilter,
  toggleField,
  togglePart,
  toParameters,
} from "../../web/inspect/filter.ts";
import { toConversations, toKeys, toProblems, toTotals } from "../../web/inspect/totals.ts";
import type { Row } from "../../web/inspect/types.ts";

const NOW = Date.parse("2026-11-25T12:00:00Z");

let count = 0;
function rowOf(own: Partial<Row>): Row {
  count += 1;
  return {
    number: count,
    isComplete: true,
    isPinned: false,
    at: "2026-11-25T11:59:00Z",
    id: `req_${count}`,
    api: "chat",
    tenant: "alice",
    client: "codex",
    conversation: null,
    model: "openai/gpt-oss-20b",
    forkedFrom: null,
    backend: "vllm-1",
    words: "Weather in Paris?",
    hasContent: true,
    outcome: "stop",
    status: 200,
    problem: null,
    promptTokens: 100,
    completionTokens: 50,
    cachedTokens: 80,
    firstTokenMs: 100,
    ms: 1100,
    steered: [],
    repairs: [],
    reasoningFrom: null,
    calls: [],
    ...own,
  };
}

describe("a filter", () => {
  test.each([
    ["", rowOf({}), true],
    ["paris", rowOf({}), true],
    ["paris rome", rowOf({}), false],
    ["key:ALICE", rowOf({}), true],
    ["key:bob", rowOf({}), false],
    ["client:codex tool:get_weather", rowOf({ calls: ["get_weather"] }), true],
    ["tool:get_weather", rowOf({}), false],
    ["status:error", rowOf({ outcome: "failed" }), true],
    ["status:error", rowOf({ outcome: "rejected", status: 404 }), false],
    ["status:error", rowOf({ outcome: "rejected", status: 429 }), false],
    ["status:rejected", rowOf({ outcome: "rejected", status: 404 }), true],
    ["status:503", rowOf({ outcome: "rejected", status: 503 }), true],
    ["status:cut", rowOf({ outcome: "length" }), true],
    ["status:ok", rowOf({}), true],
    ["is:forced", rowOf({ steered: ["open-call"] }), true],
    ["is:repaired", rowOf({ repairs: ["missing-start"] }), true],
    ["is:repaired", rowOf({ repairs: ["cut-reasoning"] }), false],
    ["is:missing", rowOf({ reasoningFrom: "lost" }), true],
    [">1s", rowOf({}), true],
    [">1100ms", rowOf({}), false],
    [">1s", rowOf({ ms: null }), false],
    ["since:5m", rowOf({}), true],
    ["since:30s", rowOf({}), false],
    ["backend:vllm-1 model:20b", rowOf({}), true],
    ["backend:x", rowOf({ backend: null }), false],
    // A name that is no field is a word.
    ["constructor:x", rowOf({}), false],
    [">soon", rowOf({ words: "a >soon b" }), true],
  ])("%j", (text, row, isShown) => {
    expect(matches(row, parseFilter(text), NOW)).toBe(isShown);
  });

  test("is the same after a way through the address", () => {
    const text = "key:alice status:error tool:get_weather >2s since:1h paris rome";
    const address = toParameters(text).toString();
    expect(address).toBe("key=alice&status=error&tool=get_weather&slower=2s&since=1h&q=paris+rome");
    expect(parseFilter(fromParameters(new URLSearchParams(address)))).toEqual(parseFilter(text));
  });

  test("of a hostile address takes known fields of sensible length only", () => {
    const query = new URLSearchParams({
      __proto__: "x",
      key: "a b",
      turn: "req_1",
      q: "x".repeat(10_000),
      tool: "<img src=x>",
    });
    expect(fromParameters(query)).toBe("key:ab tool:<imgsrc=x>");
  });

  test("gets a field, or loses it again", () => {
    expect(toggleField("paris", "key", "Alice")).toBe("paris key:alice");
    expect(toggleField("paris key:alice", "key", "Alice")).toBe("paris");
  });
});

test("totals count what is shown", () => {
  const rows = [
    rowOf({}),
    rowOf({ outcome: "failed", firstTokenMs: 300, ms: 2300, completionTokens: 100 }),
    rowOf({ outcome: "rejected", status: 404, promptTokens: null, cachedTokens: null }),
  ];
  expect(toTotals(rows)).toEqual({
    turns: 3,
    failed: 1,
    rejected: 1,
    promptTokens: 200,
    cachedTokens: 160,
    completionTokens: 200,
    firstToken: { p50: 100, p95: 300 },
    duration: { p50: 1100, p95: 2300 },
    tokensPerSecond: 50,
  });
  expect(toTotals([]).duration).toEqual({ p50: null, p95: null });
});

test("equal problems are one, failures first, then the commonest", () => {
  const wrong = {
    outcome: "rejected",
    status: 400,
    problem: "model: there is no model of this name",
  };
  const rows = [
    rowOf({ outcome: "failed", problem: null }),
    rowOf(wrong),
    rowOf({ ...wrong, tenant: "bob" }),
    rowOf({}),
  ];
  expect(
    toProblems(rows).map(({ text, count: times, keys, newest }) => [
      text,
      times,
      keys,
      newest.number,
    ]),
  ).toEqual([
    ["failed", 1, ["alice"], rows[0]?.number],
    [wrong.problem, 2, ["alice", "bob"], rows[2]?.number],
  ]);
});

test("keys are those with the most turns first, with their clients", () => {
  const rows = [
    rowOf({ tenant: "bob", client: null }),
    rowOf({ client: "opencode" }),
    rowOf({ outcome: "failed" }),
  ];
  expect(
    toKeys(rows).map(({ key, clients, requests, failed, at }) => {
      return [key, clients, requests, failed, at];
    }),
  ).toEqual([
    ["alice", ["opencode", "codex"], 2, 1, rows[2]?.at],
    ["bob", [], 1, 0, rows[0]?.at],
  ]);
});

test("conversations are those of one key, the one with the newest turn first", () => {
  const first = { id: "c1", by: "session" as const };
  const rows = [
    rowOf({ conversation: first }),
    rowOf({ conversation: null }),
    rowOf({ conversation: first, tenant: "bob" }),
    rowOf({ conversation: first }),
  ].toReversed();
  expect(toConversations(rows).map((turns) => turns.map(({ tenant }) => tenant))).toEqual([
    ["alice", "alice"],
    ["bob"],
    ["alice"],
  ]);
});

test("a part of the filter is added, and taken out again", () => {
  expect(togglePart("key:alice", ">5s")).toBe("key:alice >5s");
  expect(togglePart("key:alice >5s", ">5s")).toBe("key:alice");
});
