import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { truncateHistory } from "../../../src/api/responses/fitting-turn.ts";

type HistoryItem = Parameters<typeof truncateHistory>[0][number];
type TokenCounts = Parameters<typeof truncateHistory>[1];

const param = "input";

/** Histories in which every output has its call, several calls may be open at once, and reasoning comes anywhere. */
const history = fc
  .array(
    fc.constantFrom(
      "user",
      "system",
      "answer",
      "preamble",
      "reasoning",
      "summary",
      "call",
      "result",
    ),
    { maxLength: 30 },
  )
  .map((kinds) => {
    const open: string[] = [];
    const items: HistoryItem[] = [];
    for (const [index, kind] of kinds.entries()) {
      const text = `${kind} ${index}`;
      if (kind === "user" || kind === "system") {
        items.push({ type: "message", role: kind, content: text, param });
      } else if (kind === "answer" || kind === "preamble") {
        items.push({ type: "assistant", isAnswer: kind === "answer", content: text, param });
      } else if (kind === "reasoning") {
        items.push({ type: "reasoning", text });
      } else if (kind === "summary") {
        items.push({ type: "summary", text });
      } else if (kind === "call") {
        open.push(text);
        items.push({ type: "call", callId: text, name: "f", form: "json" as const, body: "{}" });
      } else {
        const callId = open.shift();
        if (callId !== undefined) items.push({ type: "result", callId, content: text, param });
      }
    }
    return items;
  });

/** Counts each item as one token. */
const LENGTHS: TokenCounts = {
  prompt: async (items) => items.length,
  items: async (items) => items.length,
};

const noPause = async () => undefined;

function callIds(items: readonly HistoryItem[], type: "call" | "result"): string[] {
  return items.flatMap((item) => (item.type === type && "callId" in item ? [item.callId] : []));
}

describe("a history that is too long", () => {
  test("is counted in slices", async () => {
    const items = Array.from({ length: 1000 }, (_, index): HistoryItem => ({
      type: "message",
      role: "user",
      content: `${index}`,
      param,
    }));
    let counted = 0;
    let longest = 0;
    const counts: TokenCounts = {
      ...LENGTHS,
      async items(some) {
        longest = Math.max(longest, ++counted);
        return some.length;
      },
    };
    const pause = async () => void (counted = 0);
    await truncateHistory(items, counts, 900, pause);
    expect(longest).toBe(64);
  });

  test("keeps the order, the instructions, complete calls, and the running loop", async () => {
    await fc.assert(
      fc.asyncProperty(history, fc.nat(30), async (items, most) => {
        const kept = await truncateHistory(items, LENGTHS, most, noPause);

        expect(items.filter((item) => kept.includes(item))).toEqual(kept);
        for (const callId of callIds(kept, "result"))
          expect(callIds(kept, "call")).toContain(callId);
        for (const callId of callIds(items, "result")) {
          const hasCall = callIds(kept, "call").includes(callId);
          expect(callIds(kept, "result").includes(callId)).toBe(hasCall);
        }
        const answer = items.findLastIndex((item) => item.type === "assistant" && item.isAnswer);
        const lastQuestion = items.findLast(
          (item) => item.type === "message" && item.role === "user",
        );
        const mustStay = items.filter(
          (item, index) =>
            item === lastQuestion ||
            item.type === "summary" ||
            (item.type === "message" && item.role === "system") ||
            (item.type === "reasoning" && index > answer),
        );
        expect(kept).toEqual(expect.arrayContaining(mustStay));
      }),
      { numRuns: 300 },
    );
  });

  test("loses the oldest items first, and no more than necessary", async () => {
    const items = ["a", "b", "c", "d"].map((content): HistoryItem => {
      return { type: "message", role: "user", content, param };
    });
    for (const most of [4, 3, 2, 1]) {
      expect(await truncateHistory(items, LENGTHS, most, noPause)).toEqual(items.slice(-most));
    }
    // The last question is kept.
    expect(await truncateHistory(items, LENGTHS, 0, noPause)).toEqual(items.slice(-1));
  });

  test("is counted item by item, each once, without the dropped items", async () => {
    const items: HistoryItem[] = [{ type: "message", role: "user", content: "Go.", param }];
    for (let call = 0; call < 5000; call++) {
      const callId = `call_${call}`;
      items.push({ type: "call", callId, name: "f", form: "json" as const, body: "{}" });
      items.push({ type: "result", callId, content: "done", param });
    }
    let prompts = 0;
    let counted = 0;
    const counts: TokenCounts = {
      async prompt(each) {
        prompts += 1;
        return each.length;
      },
      async items(each) {
        counted += each.length;
        return each.length;
      },
    };
    const kept = await truncateHistory(items, counts, 2001, noPause);
    expect(kept).toEqual([items[0], ...items.slice(-2000)]);
    expect(prompts).toBe(3);
    expect(counted).toBe(2002);
  });

  test("drops a little more when items take more tokens together than alone", async () => {
    const items = Array.from({ length: 100 }, (_, index): HistoryItem => {
      return { type: "message", role: "user", content: `${index}`, param };
    });
    const counts: TokenCounts = {
      ...LENGTHS,
      prompt: async (each) => each.length * 1.1,
    };
    const kept = await truncateHistory(items, counts, 50, noPause);
    expect(kept.length * 1.1).toBeLessThanOrEqual(50);
    expect(kept.length).toBeGreaterThan(40);
    expect(kept).toEqual(items.slice(-kept.length));
  });
});
