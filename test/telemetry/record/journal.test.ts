/** What all turns share for a moment: it reaches the records in order, and is bounded. */
import { expect, test } from "vitest";
import type { EngineTokens } from "../../../src/engines/engine.ts";
import { ExchangeClock } from "../../../src/telemetry/record/exchange-clock.ts";
import { Journal, type ReadSink, type TextSink } from "../../../src/telemetry/record/journal.ts";

const ids = (...list: number[]): EngineTokens => ({ type: "ids", ids: list });

/** A turn that notes what it is handed, and the clock of its exchange. */
class Turn implements ReadSink, TextSink {
  readonly got: unknown[] = [];
  readonly clock = new ExchangeClock(() => 0);

  takeId(id: number, at: number | undefined, isParsed: boolean): void {
    this.got.push([id, at, isParsed]);
  }

  takeText(text: string, at: number): void {
    this.got.push([text, at]);
  }
}

function createJournal() {
  let now = 0;
  return new Journal(() => ++now);
}

test("each turn gets its own in order, and what was written for a read has its time", () => {
  const journal = createJournal();
  const [a, b] = [new Turn(), new Turn()];
  expect(journal.read(a, a.clock, ids(10, 11, 12))).toBe(true);
  expect(journal.parsed(a, 2)).toBe(true);
  journal.text(a, a.clock, "a1");
  journal.text(a, a.clock, "a2");
  expect(journal.read(b, b.clock, ids(20))).toBe(true);
  // Not for that read: something else has been read since.
  journal.text(a, a.clock, "a3");
  journal.text(b, b.clock, "b1");
  expect(journal.read(b, b.clock, ids(21))).toBe(true);
  journal.pass(b.clock);
  journal.text(b, b.clock, "b2");
  expect([a.got, b.got]).toEqual([[], []]);
  journal.handOn();
  expect(a.got).toEqual([
    [10, 1, true],
    [11, undefined, true],
    [12, undefined, false],
    ["a1", 1],
    ["a2", 2],
    ["a3", 4],
  ]);
  expect(b.got).toEqual([
    [20, 3, false],
    ["b1", 3],
    [21, 5, false],
    ["b2", 6],
  ]);
  journal.handOn();
  expect(b.got).toHaveLength(4);
});

test("only what is still there can be marked as parsed", () => {
  const journal = createJournal();
  const [a, b] = [new Turn(), new Turn()];
  journal.read(a, a.clock, ids(1, 2));
  expect(journal.parsed(b, 1)).toBe(false);
  expect(journal.parsed(a, 3)).toBe(false);
  expect(journal.parsed(a, 1)).toBe(true);
  expect(journal.parsed(a, 1)).toBe(true);
  expect(journal.parsed(a, 1)).toBe(false);
  journal.handOn();
  expect(journal.parsed(a, 0)).toBe(false);
  expect(a.got).toEqual([
    [1, 1, true],
    [2, undefined, true],
  ]);
});

test.each<[string, EngineTokens]>([
  ["text", { type: "text", text: "a" }],
  ["pieces", { type: "pieces", pieces: [{ text: "a" }], counts: [1] }],
  ["no ids", ids()],
  ["what is no id", ids(-1)],
  ["log probabilities", { type: "ids", ids: [1], logprobs: [{ id: 1, logprob: 0, top: [] }] }],
  ["a count of cached tokens", { type: "ids", ids: [1], cachedTokens: 3 }],
  ["a long read", ids(...Array(65).keys())],
])("%s is left to the record of the turn", (_, tokens) => {
  const journal = createJournal();
  const turn = new Turn();
  expect(journal.read(turn, turn.clock, tokens)).toBe(false);
  journal.handOn();
  expect(turn.got).toEqual([]);
});

test("ids without end are handed on by themselves, none is lost", () => {
  const journal = createJournal();
  const turn = new Turn();
  for (let id = 0; id < 100_000; id++) journal.read(turn, turn.clock, ids(id));
  expect(turn.got.length).toBeGreaterThan(90_000);
  journal.handOn();
  expect(turn.got.map((each) => (Array.isArray(each) ? each[0] : each))).toEqual([
    ...Array(100_000).keys(),
  ]);
});

test("long texts are handed on before they add up", () => {
  const journal = createJournal();
  const turn = new Turn();
  for (let index = 0; index < 20; index++) journal.text(turn, turn.clock, "x".repeat(100_000));
  expect(turn.got.length).toBeGreaterThan(10);
  journal.text(turn, turn.clock, "y".repeat(1_000_000));
  expect(turn.got).toHaveLength(21);
});
