import { describe, expect, test } from "vitest";
import { MemoryBudget, rememberByText, textBytes } from "../../src/harmony/text-memory.ts";

/** A memory of the lengths of texts, and the texts that were measured for it. */
function createMemory(budget = new MemoryBudget(1_000_000)) {
  const made: string[] = [];
  const remember = rememberByText(
    (text) => {
      made.push(text);
      return { length: text.length };
    },
    { budget, bytesOf: (text) => text.length, copies: true },
  );
  return { made, lengthOf: (text: string, scope = "") => remember(text, scope) };
}

test("a text takes one byte per character, or two where one of them is not Latin-1", () => {
  expect([
    textBytes(""),
    textBytes("caf\u00e9 \u00ff"),
    textBytes("caf\u00e9 \u0100"),
    textBytes("\u{1f600}"),
  ]).toEqual([0, 6, 12, 4]);
});

describe("resizing a budget", () => {
  test("a larger one holds more from then on", () => {
    const budget = new MemoryBudget(0);
    const { made, lengthOf } = createMemory(budget);
    lengthOf("text");
    budget.resize(100);
    lengthOf("text");
    lengthOf("text");
    expect(made).toEqual(["text", "text"]);
  });

  test("a smaller one evicts what no longer fits at once", () => {
    const budget = new MemoryBudget(100);
    const { made, lengthOf } = createMemory(budget);
    lengthOf("a".repeat(40));
    lengthOf("b");
    budget.resize(20);
    lengthOf("b");
    lengthOf("b");
    expect(made).toEqual(["a".repeat(40), "b", "b"]);
  });

  test("one that everything fits evicts nothing", () => {
    const budget = new MemoryBudget(100);
    const { made, lengthOf } = createMemory(budget);
    lengthOf("b");
    budget.resize(20);
    lengthOf("b");
    expect(made).toEqual(["b"]);
  });
});

describe("caching by text", () => {
  test("returns the same value for the same text, whichever string object holds it", () => {
    const { made, lengthOf } = createMemory();
    const first = lengthOf("some text");
    expect(lengthOf(["some", "text"].join(" "))).toBe(first);
    expect(lengthOf("in front of some text".slice(-9))).toBe(first);
    expect(made).toEqual(["some text"]);
  });

  test("accepts the empty text", () => {
    const { made, lengthOf } = createMemory();
    expect([lengthOf(""), lengthOf("")]).toEqual([{ length: 0 }, { length: 0 }]);
    expect(made).toEqual([""]);
  });

  test("a failed computation is retried", () => {
    let tries = 0;
    const fail = rememberByText(
      () => {
        tries++;
        throw new Error("no");
      },
      { budget: new MemoryBudget(1000), bytesOf: () => 1 },
    );
    expect(() => fail("x", "")).toThrow("no");
    expect(() => fail("x", "")).toThrow("no");
    expect(tries).toBe(2);
  });

  test("finds each of hundreds of similar texts", () => {
    const { made, lengthOf } = createMemory();
    const texts = Array.from({ length: 300 }, (_, n) =>
      `Turn ${n}: the tide comes in at ${n * 13} past ${n}. `.repeat(1 + (n % 40)),
    );
    for (const text of texts) lengthOf(text);
    made.length = 0;
    for (const text of texts) expect(lengthOf(text)).toEqual({ length: text.length });
    expect(made).toEqual([]);
  });

  test("texts with the same fingerprint are only evicted earlier", () => {
    const { made, lengthOf } = createMemory();
    // The fingerprint reads the first 32 of 6,400 characters, and every hundredth from the end.
    const texts = Array.from(
      { length: 50 },
      (_, n) => `${"x".repeat(40)}${String(n).padStart(4, "0")}${"x".repeat(6356)}`,
    );
    const values = texts.map((text) => lengthOf(text));
    made.length = 0;
    expect(texts.toReversed().map((text) => lengthOf(text))).toEqual(values);
    expect(made).toHaveLength(34);
  });

  test("scopes do not share values", () => {
    const { made, lengthOf } = createMemory();
    const alice = lengthOf("a secret", "alice");
    const bob = lengthOf("a secret", "bob");
    expect(bob).not.toBe(alice);
    expect(made).toEqual(["a secret", "a secret"]);
    expect(lengthOf("a secret", "alice")).toBe(alice);
    expect(lengthOf("a secret", "bob")).toBe(bob);
    expect(made).toHaveLength(2);
  });

  test("several caches share one budget", () => {
    const budget = new MemoryBudget(1_000);
    const made: string[] = [];
    const memories = ["first", "second"].map((name) =>
      rememberByText(
        (text) => {
          made.push(`${name} ${text}`);
          return {};
        },
        { budget, bytesOf: () => 100 },
      ),
    );
    memories[0]!("kept", "");
    for (let n = 0; n < 20; n++) memories[1]!(`text ${n}`, "");
    made.length = 0;
    memories[0]!("kept", "");
    memories[1]!("text 19", "");
    expect(made).toEqual(["first kept"]);
  });
});
