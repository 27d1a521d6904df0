import { describe, expect, test } from "vitest";
import { o200kHarmony } from "../../../src/tokenizer/index.ts";
import { UsageCounter } from "../../../src/turn/reading/usage-counter.ts";

const tokenizer = o200kHarmony();

function usageOf(given: Parameters<UsageCounter["endCall"]>[0]) {
  const usage = new UsageCounter(tokenizer);
  usage.beginCall(100, 50);
  usage.add({ type: "ids", ids: [1, 2, 3, 4, 5, 6, 7] });
  usage.endCall(given);
  return usage.toUsage(0);
}

test("an engine's counts are used", () => {
  const given = { promptTokens: 101, cachedTokens: 64, completionTokens: 9 };
  expect(usageOf(given)).toMatchObject(given);
});

test.each([-5, 1.5, 1e18, Number.NaN, Number.POSITIVE_INFINITY])(
  "%s is not a valid count: our own is used",
  (wrong) => {
    const given = { promptTokens: wrong, cachedTokens: wrong, completionTokens: wrong };
    expect(usageOf(given)).toMatchObject({
      promptTokens: 100,
      cachedTokens: 0,
      completionTokens: 7,
    });
  },
);

test("no more of a prompt can be cached than there is", () => {
  expect(usageOf({ cachedTokens: 1_000 })).toMatchObject({ promptTokens: 100, cachedTokens: 100 });
});

test("no more tokens can be reasoning than were sampled", () => {
  const usage = new UsageCounter(tokenizer);
  usage.beginCall(100, 50);
  usage.add({ type: "text", text: "a b c", tokens: 13 });
  expect(usage.toUsage(14)).toMatchObject({ completionTokens: 13, reasoningTokens: 13 });
});

describe("text without a count", () => {
  const words = { type: "text", text: "one two three four" } as const;

  test("is counted by our tokenizer, in each call anew", () => {
    const usage = new UsageCounter(tokenizer);
    usage.beginCall(100, 50);
    usage.add(words);
    expect(usage.completionTokens()).toBe(4);
    usage.beginCall(100, 50);
    usage.add(words);
    expect(usage.completionTokens()).toBe(8);
  });

  test("is no more tokens than the call was allowed", () => {
    const usage = new UsageCounter(tokenizer);
    usage.beginCall(100, 3);
    usage.add(words);
    expect(usage.completionTokens()).toBe(3);
  });
});

describe("cached tokens that are reported before the end", () => {
  const begun = () => {
    const usage = new UsageCounter(tokenizer);
    usage.beginCall(100, 50);
    usage.addCached(64);
    return usage;
  };

  test("are kept if the call is cut, whatever a later call reports", () => {
    const usage = begun();
    usage.beginCall(120, 50);
    usage.addCached(110);
    usage.endCall({ promptTokens: 120, cachedTokens: 110 });
    expect(usage.toUsage(0)).toMatchObject({ promptTokens: 100, cachedTokens: 64 });
  });

  test("are replaced by the count at the end", () => {
    const usage = begun();
    usage.endCall({ promptTokens: 100, cachedTokens: 80 });
    expect(usage.toUsage(0)).toMatchObject({ cachedTokens: 80 });
  });
});
