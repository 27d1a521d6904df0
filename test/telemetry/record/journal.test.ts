/** What all turns share for a moment: it reaches the records in order, and is bounded. */
import { expect, test } from "vitest";
import type { EngineTokens } from "../../../src/engines/engine.ts";
import { ExchangeClock } from "../../../src/telemetry/record/exchange-clock.ts";
import { EventForm } from "../../../src/telemetry/record/event-form.ts";
import {
  END,
  Journal,
  type JournalEntries,
  NO_SLOT,
  type TextSink,
} from "../../../src/telemetry/record/journal.ts";

const ids = (...list: number[]): EngineTokens => ({ type: "ids", ids: list });

/** What a turn has read, and the clock of its exchange. */
class Turn {
  readonly got: unknown[] = [];
  readonly clock = new ExchangeClock(() => 0);
  slot = NO_SLOT;

  takeEntries(entries: JournalEntries, first: number): void {
    for (let entry = first; entry !== END; entry = entries.next(entry)) {
      const time = entries.isFirstOfRead(entry) ? entries.time(entry) : undefined;
      this.got.push([entries.value(entry), time, entries.isParsed(entry)]);
    }
  }
}

/** What was written for it: events that were handed on as a whole, and texts alone. */
class Writer implements TextSink {
  readonly got: unknown[] = [];
  form: EventForm | undefined;
  slot = NO_SLOT;

  takeForm(form: EventForm): boolean {
    this.form = form;
    return true;
  }

  takeEntries(entries: JournalEntries, first: number): void {
    for (let entry = first; entry !== END; entry = entries.next(entry)) {
      const start = entries.start(entry);
      const text = entries.characters.subarray(start, start + entries.value(entry));
      this.got.push([String.fromCharCode(...text), entries.time(entry)]);
    }
  }

  takeText(text: string, at: number): void {
    this.got.push([`whole: ${text}`, at]);
  }
}

const FORM = new EventForm({ head: "<", number: undefined, joints: [], tail: ">" });

function createJournal() {
  let now = 0;
  return new Journal(() => ++now);
}

test("each turn gets its own in order, and what was written for a read has its time", () => {
  const journal = createJournal();
  const [a, b] = [new Turn(), new Turn()];
  const [toA, toB] = [new Writer(), new Writer()];
  for (const writer of [toA, toB]) writer.form = FORM;
  expect(journal.read(a, a.clock, ids(10, 11, 12), false)).toBe(true);
  expect(journal.parsed(a, 2)).toBe(true);
  journal.text(toA, a.clock, "<a1>");
  journal.text(toA, a.clock, "<a2>");
  expect(journal.read(b, b.clock, ids(20), false)).toBe(true);
  // Not for that read: something else has been read since.
  journal.text(toA, a.clock, "<a3>");
  journal.text(toB, b.clock, "<b1>");
  expect(journal.read(b, b.clock, ids(21), false)).toBe(true);
  journal.pass(b.clock);
  journal.text(toB, b.clock, "<b2>");
  expect([a.got, b.got, toA.got, toB.got]).toEqual([[], [], [], []]);
  journal.handOn();
  expect(a.got).toEqual([
    [10, 1, true],
    [11, undefined, true],
    [12, undefined, false],
  ]);
  expect(toA.got).toEqual([
    ["a1", 1],
    ["a2", 2],
    ["a3", 4],
  ]);
  expect(b.got).toEqual([
    [20, 3, false],
    [21, 5, false],
  ]);
  expect(toB.got).toEqual([
    ["b1", 3],
    ["b2", 6],
  ]);
  journal.handOn();
  expect(b.got).toHaveLength(2);
});

test("of an event whose form is known only the text is noted, whatever it is compared with", () => {
  const journal = createJournal();
  const { clock } = new Turn();
  const writer = new Writer();
  journal.made(writer, FORM, "é\ud800", 4);
  journal.text(writer, clock, "<é\ud800>");
  // It is told at once when the form changes, in order.
  const other = new EventForm({ head: "[", number: undefined, joints: ["|"], tail: "]" });
  journal.made(writer, other, "b", 5);
  expect(writer.got).toEqual([["é\ud800", 1]]);
  journal.text(writer, clock, "[b|b]");
  journal.handOn();
  expect(writer.got.slice(1)).toEqual([["b", 2]]);
});

test("an event that is more than what was told of it is handed on as a whole", () => {
  const journal = createJournal();
  const { clock } = new Turn();
  const [a, b] = [new Writer(), new Writer()];
  journal.made(a, FORM, "x", 3);
  journal.text(a, clock, "before<x>");
  // Of somebody else.
  journal.made(a, FORM, "y", 3);
  journal.text(b, clock, "<y>");
  // Told once, written twice.
  journal.made(a, FORM, "z", 3);
  journal.text(a, clock, "<z>");
  journal.text(a, clock, "?z?");
  // Something is handed on in between, and what is too long is not noted.
  journal.made(a, FORM, "u", 3);
  journal.handOn();
  journal.text(a, clock, "!u!");
  journal.made(a, FORM, "x".repeat(65), 67);
  journal.text(a, clock, `!${"x".repeat(65)}!`);
  expect(a.got).toEqual([
    ["whole: before<x>", 1],
    ["z", 3],
    ["whole: ?z?", 4],
    ["whole: !u!", 5],
    [`whole: !${"x".repeat(65)}!`, 6],
  ]);
  expect(b.got).toEqual([["whole: <y>", 2]]);
});

test("ids that were parsed when they were noted are not parsed again", () => {
  const journal = createJournal();
  const turn = new Turn();
  expect(journal.read(turn, turn.clock, ids(1, 2), true)).toBe(true);
  expect(journal.parsed(turn, 1)).toBe(false);
  // The first of these ids is plain, and none is noted.
  expect(journal.read(turn, turn.clock, ids(3, -1), true)).toBe(false);
  journal.handOn();
  expect(turn.got).toEqual([
    [1, 1, true],
    [2, undefined, true],
  ]);
});

test("only what is still there can be marked as parsed", () => {
  const journal = createJournal();
  const [a, b] = [new Turn(), new Turn()];
  journal.read(a, a.clock, ids(1, 2), false);
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
  expect(journal.read(turn, turn.clock, tokens, false)).toBe(false);
  journal.handOn();
  expect(turn.got).toEqual([]);
});

test("ids without end are handed on by themselves, none is lost", () => {
  const journal = createJournal();
  const turn = new Turn();
  for (let id = 0; id < 100_000; id++) journal.read(turn, turn.clock, ids(id), false);
  expect(turn.got.length).toBeGreaterThan(90_000);
  journal.handOn();
  expect(turn.got.map((each) => (Array.isArray(each) ? each[0] : each))).toEqual([
    ...Array(100_000).keys(),
  ]);
});

test("texts without end are handed on by themselves, none is lost", () => {
  const journal = createJournal();
  const { clock } = new Turn();
  const writer = new Writer();
  const texts = Array.from({ length: 20_000 }, (_, index) => `${index}`.padStart(index % 65, "x"));
  for (const text of texts) {
    journal.made(writer, FORM, text, text.length + 2);
    journal.text(writer, clock, `<${text}>`);
  }
  expect(writer.got.length).toBeGreaterThan(10_000);
  journal.handOn();
  expect(writer.got).toEqual(texts.map((text, index) => [text, index + 1]));
});
