/** What is written for every token while a turn is recorded: reads and frames, with their times. */
import {
  type Arbitrary,
  array,
  assert,
  constant,
  constantFrom,
  nat,
  oneof,
  property,
  record,
  string,
} from "fast-check";
import { expect, test } from "vitest";
import { createRandom } from "../../../bench/statistics.ts";
import type { EngineTokens } from "../../../src/engines/engine.ts";
import { EventForm } from "../../../src/telemetry/record/event-form.ts";
import { JournalEntries } from "../../../src/telemetry/record/journal-entries.ts";
import { RecordBudget, RecordMemory } from "../../../src/telemetry/record/limits.ts";
import { ReadLog, type TimedRead, unitsOf } from "../../../src/telemetry/record/read-log.ts";
import { TextLog } from "../../../src/telemetry/record/text-log.ts";
import { tokenText } from "../../../src/tokenizer/index.ts";

const ids = (...list: number[]): EngineTokens => ({ type: "ids", ids: list });

const anyRead: Arbitrary<EngineTokens> = oneof(
  { weight: 8, arbitrary: nat({ max: 201_087 }).map((id) => ids(id)) },
  array(nat({ max: 201_087 }), { maxLength: 5 }).map((list) => ids(...list)),
  // As a broken or hostile server may send them.
  constantFrom(-1, 0x7f_ff_ff_ff, 0x80_00_00_00, 0xff_ff_ff_ff, NaN, Infinity).map((id) => ids(id)),
  string({ maxLength: 5 }).map((text): EngineTokens => ({ type: "text", text })),
  constant<EngineTokens>({ type: "pieces", pieces: [{ special: 200_005 }], counts: [1] }),
  constant<EngineTokens>({
    type: "ids",
    ids: [5],
    logprobs: [{ id: 5, logprob: -1, top: [] }],
  }),
);

const anyTime = nat({ max: 4_000_000_000 }).map((tenths) => tenths / 10);

test("reads come back as they came, from wherever one has stopped", () => {
  const anyReads = array(record({ ms: anyTime, tokens: anyRead }), { maxLength: 300 });
  assert(
    property(anyReads, nat(300), (reads, stop) => {
      const log = new ReadLog(createBudget());
      const first = reads.slice(0, stop);
      for (const { tokens, ms } of first) log.add(tokens, ms);
      expect(withoutPositions(log.reads())).toEqual(first);
      const position = log.positionAfter(0, first.length);
      for (const { tokens, ms } of reads.slice(stop)) log.add(tokens, ms);
      expect(withoutPositions(log.reads(position))).toEqual(reads.slice(stop));
      expect(withoutPositions(log.reads())).toEqual(reads);
      expect(log.units).toBe(reads.reduce((sum, { tokens }) => sum + unitsOf(tokens), 0));
    }),
  );
});

test("reads beyond the bound are left out, also if a later one would fit", () => {
  const budget = createBudget(600);
  const log = new ReadLog(budget);
  for (let id = 0; id < 20; id++) log.add(ids(id), id);
  log.add({ type: "text", text: "x".repeat(1000) }, 20);
  log.add(ids(21, 22), 21);
  expect([...log.reads()].map(({ ms }) => ms)).toEqual(Array.from({ length: 20 }, (_, ms) => ms));
  expect(budget.cut).toEqual([{ what: "reads", left: 1002 }]);
});

test("a read is kept as far as there is room", () => {
  const budget = createBudget(300);
  const log = new ReadLog(budget);
  log.add(ids(...Array(1000).keys()), 1);
  const [read] = log.reads();
  const kept = read?.tokens.type === "ids" ? read.tokens.ids : [];
  expect(kept).toEqual([...Array(kept.length).keys()]);
  expect(budget.cut).toEqual([{ what: "reads", left: 1000 - kept.length }]);
  expect(budget.used).toBeLessThanOrEqual(300);
});

test("texts come back as they were written", () => {
  const anyText = oneof(
    string({ unit: "grapheme", maxLength: 400 }),
    constantFrom("", "\u{feff}", "a".repeat(9000), "é".repeat(8192), "𝄞".repeat(3000)),
  );
  const anyTexts = array(record({ ms: anyTime, text: anyText }), { maxLength: 200 });
  assert(
    property(anyTexts, (texts) => {
      const log = new TextLog({ take: () => true });
      for (const { text, ms } of texts) log.add(text, ms);
      expect(log.length).toBe(texts.length);
      expect([...log.texts()]).toEqual(texts);
      expect([...log.texts(7)]).toEqual(texts.slice(7));
    }),
  );
});

test("a text log takes its memory before it uses it", () => {
  let taken = 0;
  let allocated = 0;
  const log = new TextLog({
    take: (bytes) => {
      if (taken + bytes > 100_000) return false;
      taken += bytes;
      return true;
    },
    allocate: (size) => {
      allocated += size;
      const bytes = Buffer.alloc(size);
      return { bytes, write: (text, at) => bytes.write(text, at) };
    },
  });
  const text = "data: {}\n\n".repeat(30);
  let kept = 0;
  while (log.add(text, 0)) kept += 1;
  expect(kept * text.length).toBeGreaterThan(50_000);
  expect(allocated).toBeLessThan(taken);
  expect(log.add("", 0)).toBe(false);
  expect([...log.texts()]).toHaveLength(kept);
});

function withoutPositions(reads: Iterable<TimedRead>): Pick<TimedRead, "ms" | "tokens">[] {
  return Array.from(reads, ({ ms, tokens }) => ({ ms, tokens }));
}

function createBudget(bytes = Infinity): RecordBudget {
  return new RecordBudget(bytes, new RecordMemory(Infinity, () => false));
}

/** Reads of one or two ids, each with the event that it causes: the text of the id, other text, or none. */
function fillEntries(random: () => number) {
  const entries = new JournalEntries(1);
  const characters: string[] = [];
  const read: number[] = [];
  const events: string[] = [];
  for (let entry = 0; entry < JournalEntries.perRow; entry++) {
    const id = Math.floor(random() * 1000);
    if (random() < 0.1) {
      entries.setText(entry, entry, 1);
      characters.push("é");
      events.push("<é>");
      continue;
    }
    entries.setId(entry, entry, id, entry % 3 !== 0 || entry === 0, false);
    read.push(id);
    const kind = random();
    if (kind < 0.8 && tokenText(id) !== undefined) {
      entries.addTextOfId(entry);
      events.push(`<${JSON.stringify(tokenText(id))}>`);
    } else if (kind < 0.9) {
      entries.addText(entry, 2);
      characters.push("ab");
      events.push("<ab>");
    }
  }
  const all = characters.join("");
  for (let at = 0; at < all.length; at++) entries.characters[at] = all.charCodeAt(at);
  return { entries, read, events };
}

test.each([100_000_000, 100_000, 30_000, 2000])(
  "what rows of the journal hand on is there, as far as %i bytes have room",
  (room) => {
    const random = createRandom(room);
    let free = room;
    const take = (bytes: number) => bytes <= free && ((free -= bytes), true);
    const log = new TextLog({ take });
    const budget = new RecordBudget(room, new RecordMemory(Infinity, () => false));
    const reads = new ReadLog(budget);
    log.useForm(new EventForm({ head: "<", number: undefined, joints: [], tail: ">" }));
    const read: number[] = [];
    const events: string[] = [];
    let left = 0;
    for (let row = 0; row < 200; row++) {
      const filled = fillEntries(random);
      left += log.addEntries(filled.entries, 0, JournalEntries.perRow, 0);
      reads.addEntries(filled.entries, 0, JournalEntries.perRow);
      read.push(...filled.read);
      events.push(...filled.events);
    }
    expect(log.length + left).toBe(events.length);
    expect(left > 0).toBe(room < 100_000_000);
    for (const from of [0, 1, 4095, 4096, 4097, 8191, 8192, 9000]) {
      const texts = [...log.texts(from)].map(({ text }) => text);
      expect(texts).toEqual(events.slice(from, Math.max(from, log.length)));
    }
    const kept = [...reads.reads()].flatMap(({ tokens }) =>
      tokens.type === "ids" ? tokens.ids : [],
    );
    expect(kept).toEqual(read.slice(0, kept.length));
    const cut = budget.cut.reduce((sum, each) => sum + each.left, 0);
    expect(kept.length + cut).toBe(read.length);
  },
);
