/** What streams have recently read and written reaches their records in order, is bounded, and is never another's. */
import { array, assert, constantFrom, nat, oneof, property, record, string } from "fast-check";
import { expect, test } from "vitest";
import type { EngineTokens } from "../../../src/engines/engine.ts";
import { EventForm } from "../../../src/telemetry/record/event-form.ts";
import { Journal, NO_FORM, NO_ROW } from "../../../src/telemetry/record/journal.ts";
import type {
  JournalEntries,
  ReadSink,
  TextSink,
} from "../../../src/telemetry/record/journal-entries.ts";
import { fromTenths } from "../../../src/telemetry/record/tenths.ts";
import { o200kHarmony, tokenText } from "../../../src/tokenizer/index.ts";

type IdTokens = Extract<EngineTokens, { type: "ids" }>;

const ids = (...list: number[]): IdTokens => ({ type: "ids", ids: list });

/** What a turn has read. */
class Turn implements ReadSink {
  readonly got: [id: number, time: number | undefined, isParsed: boolean][] = [];
  readonly row: number;

  /** @param start in milliseconds */
  constructor(journal: Journal, exchange = NO_ROW, start = 0) {
    this.row = journal.openTurn(this, exchange, start * 10);
  }

  takeReads(entries: JournalEntries, first: number, end: number): void {
    for (let entry = first; entry < end; entry++) {
      if (!entries.hasId(entry)) continue;
      const time = entries.isFirstOfRead(entry) ? fromTenths(entries.tenths(entry)) : undefined;
      this.got.push([entries.id(entry), time, entries.isParsed(entry)]);
    }
  }
}

/** What was written for it: events that were handed on as a whole, and texts alone. */
class Writer implements TextSink {
  readonly got: [text: string, time: number][] = [];
  form: EventForm | undefined;
  readonly row: number;
  /** The form that is learned from the next whole event. */
  learns: EventForm | undefined;

  constructor(journal: Journal) {
    this.row = journal.openExchange(this, 0);
  }

  get events(): string[] {
    return this.got.map(([text]) => text.replace(/^whole: /, ""));
  }

  takeForm(form: EventForm): boolean {
    this.form = form;
    return true;
  }

  takeTexts(entries: JournalEntries, first: number, end: number, character: number): void {
    let at = character;
    for (let entry = first; entry < end; entry++) {
      if (!entries.hasText(entry)) continue;
      const start = at;
      at += entries.textLength(entry);
      const characters = String.fromCharCode(...entries.characters.subarray(start, at));
      const text = entries.hasTextOfId(entry)
        ? JSON.stringify(tokenText(entries.id(entry)))
        : characters;
      this.got.push([this.form?.toEvent(text, 0) ?? "", fromTenths(entries.tenths(entry))]);
    }
  }

  takeText(text: string, at: number): void {
    this.got.push([`whole: ${text}`, fromTenths(at)]);
    this.form = this.learns ?? this.form;
    this.learns = undefined;
  }
}

const FORM = new EventForm({ head: "<", number: undefined, joints: [], tail: ">" });

/** Its clock advances each time it is read. */
function createJournal() {
  let now = 0;
  return new Journal(() => ++now);
}

test("each turn gets its own in order, and what was written for a read has its time", () => {
  const journal = createJournal();
  const [toA, toB] = [new Writer(journal), new Writer(journal)];
  const [a, b] = [new Turn(journal, toA.row), new Turn(journal, toB.row)];
  for (const writer of [toA, toB]) writer.form = FORM;
  expect(journal.read(a.row, ids(10, 11, 12))).toBe(true);
  expect(journal.parsed(a.row, 2)).toBe(true);
  journal.text(toA.row, toA, "<a1>");
  journal.text(toA.row, toA, "<a2>");
  expect(journal.read(b.row, ids(20))).toBe(true);
  // Not for that read: something else has been read since.
  journal.text(toA.row, toA, "<a3>");
  journal.text(toB.row, toB, "<b1>");
  expect(journal.read(b.row, ids(21))).toBe(true);
  journal.pass(toB.row);
  journal.text(toB.row, toB, "<b2>");
  expect([a.got, b.got, toA.got, toB.got]).toEqual([[], [], [], []]);
  journal.flush(a.row);
  expect(a.got).toEqual([
    [10, 1, true],
    [11, undefined, true],
    [12, undefined, false],
  ]);
  expect(toA.got).toEqual([
    ["<a1>", 1],
    ["<a2>", 2],
    ["<a3>", 4],
  ]);
  expect([b.got, toB.got]).toEqual([[], []]);
  journal.flush(toB.row);
  expect(b.got).toEqual([
    [20, 3, false],
    [21, 5, false],
  ]);
  expect(toB.got).toEqual([
    ["<b1>", 3],
    ["<b2>", 6],
  ]);
  journal.flush(b.row);
  expect(b.got).toHaveLength(2);
});

test("times count from the start of their row, to a tenth of a millisecond, however long the clock has run", () => {
  const days = 100 * 24 * 3600 * 1000;
  let now = days;
  const journal = new Journal(() => now);
  const [early, late] = [new Turn(journal), new Turn(journal, NO_ROW, days)];
  for (const after of [0, 0.04, 0.06, 12.3]) {
    now = days + after;
    journal.noteParsed(late.row, ids(1));
  }
  journal.noteParsed(early.row, ids(1));
  for (const turn of [early, late]) journal.flush(turn.row);
  expect(late.got.map(([, time]) => time)).toEqual([0, 0, 0.1, 12.3]);
  // The latest time that records have.
  expect(early.got.map(([, time]) => time)).toEqual([429_496_729.4]);
});

test("an event that a read has caused shares its entry, unless the row was full or the turn has another row", () => {
  const journal = createJournal();
  const writer = new Writer(journal);
  const [first, second] = [new Turn(journal, writer.row), new Turn(journal, writer.row)];
  const form = journal.announce(writer.row, writer, FORM, "?", "?", 3);
  const write = (turn: Turn, text: string) => {
    expect(journal.noteParsed(turn.row, ids(7))).toBe(true);
    expect(journal.noteMade(writer.row, form, "", text, text.length + 2)).toBe(true);
    expect(journal.noteWritten(writer.row, text.length + 2)).toBe(true);
  };
  write(first, "a");
  write(second, "b");
  write(first, "c".repeat(64));
  // More characters than a row has room for.
  for (let more = 0; more < 10; more++) write(first, "d".repeat(64));
  journal.flush(first.row);
  journal.flush(second.row);
  expect(writer.got).toEqual([
    ["<a>", 1],
    ["<b>", 2],
    [`<${"c".repeat(64)}>`, 3],
    ...Array.from({ length: 10 }, (_, more) => [`<${"d".repeat(64)}>`, 4 + more]),
  ]);
  expect(first.got.map(([, time]) => time)).toEqual([1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13]);
  expect(second.got).toEqual([[7, 2, true]]);
});

test("of an event whose form is known only the text is noted, whatever it is compared with", () => {
  const journal = createJournal();
  const writer = new Writer(journal);
  const form = journal.announce(writer.row, writer, FORM, "", "é\ud800", 4);
  journal.text(writer.row, writer, "<é\ud800>");
  // The form changes in order.
  const other = new EventForm({ head: "[", number: undefined, joints: ["|"], tail: "]" });
  const another = journal.announce(writer.row, writer, other, "", "b", 5);
  expect(writer.got).toEqual([["<é\ud800>", 1]]);
  expect(journal.noteMade(writer.row, form, "", "c", 3)).toBe(false);
  expect(journal.noteMade(writer.row, another, "", "b", 5)).toBe(true);
  journal.text(writer.row, writer, "[b|b]");
  journal.flush(writer.row);
  expect(writer.got.slice(1)).toEqual([["[b|b]", 2]]);
});

test("a form that was learned meanwhile takes the place of the announced one", () => {
  const journal = createJournal();
  const writer = new Writer(journal);
  const form = journal.announce(writer.row, writer, FORM, "", "a", 3);
  journal.text(writer.row, writer, "<a>");
  writer.learns = new EventForm({ head: "(", number: undefined, joints: [], tail: ")" });
  journal.text(writer.row, writer, "something else");
  expect(journal.noteMade(writer.row, form, "", "b", 3)).toBe(false);
  journal.text(writer.row, writer, "(b)");
  journal.flush(writer.row);
  expect(writer.events).toEqual(["<a>", "something else", "(b)"]);
});

test("an event that is more than what was told of it is handed on as a whole", () => {
  const journal = createJournal();
  const [a, b] = [new Writer(journal), new Writer(journal)];
  const announce = (text: string) =>
    journal.announce(a.row, a, FORM, "", text, Math.min(text.length, 65) + 2);
  announce("x");
  journal.text(a.row, a, "before<x>");
  // Of somebody else.
  announce("y");
  journal.text(b.row, b, "<y>");
  // Told once, written twice.
  announce("z");
  journal.text(a.row, a, "<z>");
  journal.text(a.row, a, "?z?");
  // Something is handed on in between, and what is too long is not noted.
  announce("-");
  journal.text(a.row, a, "<->");
  announce("u");
  journal.flush(a.row);
  journal.text(a.row, a, "!u!");
  announce("x".repeat(65));
  journal.text(a.row, a, `!${"x".repeat(65)}!`);
  expect(a.got).toEqual([
    ["whole: before<x>", 1],
    ["<z>", 3],
    ["whole: ?z?", 4],
    ["<->", 5],
    ["whole: !u!", 6],
    [`whole: !${"x".repeat(65)}!`, 7],
  ]);
  expect(b.got).toEqual([["whole: <y>", 2]]);
});

test("ids that were parsed when they were noted are not parsed again", () => {
  const journal = createJournal();
  const turn = new Turn(journal);
  expect(journal.noteParsed(turn.row, ids(1, 2))).toBe(true);
  expect(journal.parsed(turn.row, 1)).toBe(false);
  // The first of these ids is plain, and none is noted.
  expect(journal.noteParsed(turn.row, ids(3, -1))).toBe(false);
  journal.flush(turn.row);
  expect(turn.got).toEqual([
    [1, 1, true],
    [2, undefined, true],
  ]);
});

test("only what is still there can be marked as parsed", () => {
  const journal = createJournal();
  const [a, b] = [new Turn(journal), new Turn(journal)];
  journal.read(a.row, ids(1, 2));
  expect(journal.parsed(b.row, 1)).toBe(false);
  expect(journal.parsed(a.row, 3)).toBe(false);
  expect(journal.parsed(a.row, 1)).toBe(true);
  expect(journal.parsed(a.row, 1)).toBe(true);
  expect(journal.parsed(a.row, 1)).toBe(false);
  journal.flush(a.row);
  expect(journal.parsed(a.row, 0)).toBe(false);
  expect(a.got).toEqual([
    [1, 1, true],
    [2, undefined, true],
  ]);
});

test.each<[string, IdTokens]>([
  ["no ids", ids()],
  ["what is no id", ids(-1)],
  ["an id far beyond the vocabulary", ids(1 << 20)],
  ["log probabilities", { type: "ids", ids: [1], logprobs: [{ id: 1, logprob: 0, top: [] }] }],
  ["a count of cached tokens", { type: "ids", ids: [1], cachedTokens: 3 }],
  ["a long read", ids(...Array(64).keys())],
])("%s is left to the record of the turn", (_, tokens) => {
  const journal = createJournal();
  const turn = new Turn(journal);
  expect(journal.read(turn.row, tokens)).toBe(false);
  expect(journal.noteParsed(turn.row, tokens)).toBe(false);
  journal.flush(turn.row);
  expect(turn.got).toEqual([]);
});

test("ids without end are handed on by themselves, none is lost", () => {
  const journal = createJournal();
  const turn = new Turn(journal);
  for (let id = 0; id < 1000; id++) journal.read(turn.row, ids(id));
  expect(turn.got.length).toBeGreaterThan(900);
  journal.flush(turn.row);
  expect(turn.got.map(([id]) => id)).toEqual([...Array(1000).keys()]);
});

test("texts without end are handed on by themselves, none is lost", () => {
  const journal = createJournal();
  const writer = new Writer(journal);
  const texts = Array.from({ length: 2000 }, (_, index) => `${index}`.padStart(index % 65, "x"));
  let form = NO_FORM;
  for (const text of texts) {
    const length = text.length + 2;
    if (!journal.noteMade(writer.row, form, "", text, length)) {
      form = journal.announce(writer.row, writer, FORM, "", text, length);
    }
    journal.text(writer.row, writer, `<${text}>`);
  }
  expect(writer.got.length).toBeGreaterThan(1900);
  journal.flush(writer.row);
  expect(writer.got).toEqual(texts.map((text, index) => [`<${text}>`, index + 1]));
});

test("a number is void once its owner has ended, though the row has another", () => {
  const journal = createJournal();
  const writer = new Writer(journal);
  const turn = new Turn(journal, writer.row);
  const form = journal.announce(writer.row, writer, FORM, "", "a", 3);
  expect(journal.noteParsed(turn.row, ids(1))).toBe(true);
  journal.closeTurn(turn.row);
  expect(turn.got).toEqual([[1, 1, true]]);
  // The next turn of the exchange.
  const next = new Turn(journal, writer.row);
  expect(journal.noteParsed(turn.row, ids(2))).toBe(false);
  expect(journal.noteMade(writer.row, form, "", "b", 3)).toBe(true);
  journal.closeExchange(writer.row);
  expect(journal.noteWritten(writer.row, 3)).toBe(false);
  expect(journal.noteMade(writer.row, form, "", "c", 3)).toBe(false);
  expect(journal.announce(writer.row, writer, FORM, "", "c", 3)).toBe(NO_FORM);
  journal.closeTurn(next.row);
  const other = new Writer(journal);
  const others = new Turn(journal, other.row);
  expect(journal.noteParsed(next.row, ids(3))).toBe(false);
  expect(journal.noteMade(writer.row, form, "", "d", 3)).toBe(false);
  journal.text(writer.row, writer, "late");
  for (const each of [turn, next]) journal.closeTurn(each.row);
  journal.closeExchange(writer.row);
  expect(journal.noteParsed(others.row, ids(4))).toBe(true);
  journal.flush(others.row);
  expect([next.got, other.got, others.got.map(([id]) => id)]).toEqual([[], [], [4]]);
  expect(writer.events).toEqual(["late"]);
});

test("streams beyond the most rows are not buffered, until others have ended", () => {
  const journal = createJournal();
  const turns = Array.from({ length: 4095 }, () => new Turn(journal));
  const [one] = turns;
  const late = new Turn(journal);
  const writer = new Writer(journal);
  expect([late.row, writer.row]).toEqual([NO_ROW, NO_ROW]);
  expect(journal.noteParsed(late.row, ids(1))).toBe(false);
  expect(journal.announce(writer.row, writer, FORM, "", "a", 3)).toBe(NO_FORM);
  expect(journal.noteMade(writer.row, NO_FORM, "", "a", 3)).toBe(false);
  expect(journal.noteWritten(writer.row, 3)).toBe(false);
  journal.text(writer.row, writer, "<a>");
  expect(writer.got).toEqual([["whole: <a>", 1]]);
  for (const [index, turn] of turns.entries()) {
    expect(journal.noteParsed(turn.row, ids(index))).toBe(true);
  }
  if (one) journal.closeTurn(one.row);
  expect(new Turn(journal).row).not.toBe(NO_ROW);
  for (const turn of turns) journal.closeTurn(turn.row);
  expect(turns.map(({ got }) => got.map(([id]) => id))).toEqual(turns.map((_, index) => [index]));
});

test("an event that is the text of the id before it is noted by the id, whatever was read in between", () => {
  const journal = createJournal();
  const [a, b] = [createStream(journal), createStream(journal)];
  const [city = 0, house = 0] = ["city", "house"].flatMap((word) => o200kHarmony().encode(word));
  const made = '<"city">';
  const announce = ({ writer }: typeof a) =>
    journal.announce(writer.row, writer, FORM, "city", '"city"', made.length);
  for (const other of [undefined, ids(house), ids(city)]) {
    journal.noteParsed(a.turn.row, ids(city));
    announce(a);
    if (other !== undefined) journal.noteParsed(b.turn.row, other);
    journal.text(a.writer.row, a.writer, made);
  }
  // The text of another id, and of the id before the last.
  journal.noteParsed(a.turn.row, ids(house));
  announce(a);
  journal.text(a.writer.row, a.writer, made);
  journal.noteParsed(a.turn.row, ids(city, house));
  announce(a);
  journal.text(a.writer.row, a.writer, made);
  journal.flush(a.turn.row);
  journal.flush(b.turn.row);
  expect(a.writer.events).toEqual([made, made, made, made, made]);
  expect(a.turn.got.map(([id]) => id)).toEqual([city, city, city, house, city, house]);
  expect([b.writer.events, b.turn.got.map(([id]) => id)]).toEqual([[], [house, city]]);
});

test("whatever streams do, each gets what was noted by its number, in order and nothing else", () => {
  const who = nat(3);
  const step = oneof(
    record({ do: constantFrom("read" as const, "parse" as const), who, count: nat(70) }),
    record({ do: constantFrom("made" as const, "text" as const), who, text: string() }),
    record({ do: constantFrom("other" as const), who, text: string() }),
    // As nearly all tokens are.
    { weight: 3, arbitrary: record({ do: constantFrom("token" as const), who, other: nat(9) }) },
    record({ do: constantFrom("flush", "close exchange", "close turn", "open" as const), who }),
  );
  assert(
    property(array(step, { maxLength: 400 }), (steps) => {
      const journal = createJournal();
      const streams = Array.from({ length: 4 }, () => createStream(journal));
      const all = [...streams];
      let id = 1000;
      const read = ({ turn, expected }: Stream, count: number, isParsed: boolean) => {
        const tokens = ids(...Array.from({ length: count }, () => ++id));
        const isNoted = isParsed
          ? journal.noteParsed(turn.row, tokens)
          : journal.read(turn.row, tokens);
        if (isNoted) expected.ids.push(...tokens.ids);
      };
      const announce = (stream: Stream, text: string) => {
        const { row } = stream.writer;
        const json = JSON.stringify(text);
        const told = [text, json, json.length + 2] as const;
        if (journal.noteMade(row, stream.form, ...told)) return;
        stream.form = journal.announce(row, stream.writer, FORM, ...told);
      };
      const write = ({ writer, expected }: Stream, event: string) => {
        journal.text(writer.row, writer, event);
        expected.events.push(event);
      };
      for (const each of steps) {
        const stream = streams[each.who];
        if (stream === undefined) throw new Error("no such stream");
        if (each.do === "read" || each.do === "parse") {
          read(stream, each.count, each.do === "parse");
        } else if (each.do === "made" || each.do === "text") {
          if (each.do === "made") announce(stream, each.text);
          write(stream, `<${JSON.stringify(each.text)}>`);
        } else if (each.do === "other") {
          write(stream, each.text);
        } else if (each.do === "token") {
          read(stream, 1, true);
          const text = tokenText(id) ?? "";
          announce(stream, text);
          // Sometimes another stream reads before it is written.
          const other = streams[each.other];
          if (other !== undefined) read(other, 1, true);
          write(stream, `<${JSON.stringify(text)}>`);
        } else if (each.do === "flush") {
          journal.flush(stream.turn.row);
        } else if (each.do === "close exchange") {
          journal.closeExchange(stream.writer.row);
        } else if (each.do === "close turn") {
          journal.closeTurn(stream.turn.row);
        } else {
          // Another turn of the same exchange, with an exchange of its own as well.
          const next = createStream(journal, stream.writer.row);
          all.push(next);
          streams[each.who] = next;
        }
      }
      for (const { turn, writer } of all) {
        journal.flush(turn.row);
        journal.flush(writer.row);
      }
      for (const { turn, writer, expected } of all) {
        expect(turn.got.map(([got]) => got)).toEqual(expected.ids);
        expect(writer.events).toEqual(expected.events);
      }
    }),
  );
});

type Stream = ReturnType<typeof createStream>;

/** An exchange with a turn, and what they were told. @param exchange that the turn belongs to instead */
function createStream(journal: Journal, exchange?: number) {
  const writer = new Writer(journal);
  const turn = new Turn(journal, exchange ?? writer.row);
  return { turn, writer, form: NO_FORM, expected: { ids: [] as number[], events: [] as string[] } };
}
