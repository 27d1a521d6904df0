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
import { RecordBudget, RecordMemory } from "../../../src/telemetry/record/limits.ts";
import { ReadLog, type TimedRead, unitsOf } from "../../../src/telemetry/record/read-log.ts";
import { TextLog, type TimedText } from "../../../src/telemetry/record/text-log.ts";
import { tokenText } from "../../../src/tokenizer/index.ts";
import { LONGEST_TIME, SAME_READ, toNote } from "../../../src/turn/token-notes.ts";
import { readsOf } from "../../helpers/noted-reads.ts";

/** Of the vocabulary. */
const LAST_ID = 201_087;

const ids = (...list: number[]): EngineTokens => ({ type: "ids", ids: list });

const anyRead: Arbitrary<EngineTokens> = oneof(
  { weight: 8, arbitrary: nat({ max: 201_087 }).map((id) => ids(id)) },
  array(nat({ max: 201_087 }), { maxLength: 5 }).map((list) => ids(...list)),
  // As a broken or hostile server may send them.
  constantFrom(
    -1,
    262_142,
    262_143,
    262_144,
    0x7f_ff_ff_ff,
    0x80_00_00_00,
    0xff_ff_ff_ff,
    NaN,
    Infinity,
  ).map((id) => ids(id)),
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
  const budget = createBudget(400);
  const log = new ReadLog(budget);
  log.add(ids(...Array(1000).keys()), 1);
  const [read] = log.reads();
  const kept = read?.tokens.type === "ids" ? read.tokens.ids : [];
  expect(kept.length).toBeGreaterThan(0);
  expect(kept).toEqual([...Array(kept.length).keys()]);
  expect(budget.cut).toEqual([{ what: "reads", left: 1000 - kept.length }]);
  expect(budget.used).toBeLessThanOrEqual(400);
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

test.each([100_000_000, 100_000, 30_000, 2000])(
  "runs of ids and their events are there between others, as far as %i bytes have room",
  (room) => {
    const random = createRandom(room);
    let free = room;
    const log = new TextLog({ take: (bytes) => bytes <= free && ((free -= bytes), true) });
    const budget = createBudget(room);
    const begin = () => ({ reads: new ReadLog(budget), told: [] as number[] });
    let call = begin();
    const calls = [call];
    log.useForm(new EventForm({ head: "<", number: undefined, joints: ["|"], tail: ">" }));
    const events: TimedText[] = [];
    let tenths = 0;
    let left = 0;
    for (let run = 0; run < 2000; run++) {
      // Another engine call.
      if (random() < 0.01) calls.push((call = begin()));
      const { reads } = call;
      const some = Array.from({ length: 1 + Math.floor(random() * 32) }, () =>
        Math.floor(100 + random() * 1000),
      );
      const start = tenths;
      const notes = Uint32Array.from(some, (id, at) =>
        toNote(id, at > 0 && random() < 0.2 ? SAME_READ : at + 1),
      );
      tenths += some.length;
      const position = reads.addTokens(notes, [{ at: 0, time: start }]);
      const noted = readsOf(notes);
      // The last of them may not have been written.
      const count = noted.length - (random() < 0.1 ? 1 : 0);
      const written = noted.slice(0, count).map(({ time, ids: read }): TimedText => {
        const json = JSON.stringify(read.map((id) => tokenText(id)).join(""));
        return { ms: (start + time) / 10, text: `<${json}|${json}>` };
      });
      if (position < 0 || (count > 0 && !log.addRun(reads, position, count))) left += count;
      else events.push(...written);
      call.told.push(...some);
      const other = random() < 0.1 ? `<${run}|${run}>` : "[whole]";
      if (random() < 0.1) {
        if (log.add(other, run)) events.push({ ms: run, text: other });
        else left += 1;
      }
    }
    expect(log.length).toBe(events.length);
    expect(left > 0).toBe(room < 100_000_000);
    for (const from of [0, 1, 4095, 4096, 4097, 8191, 8192, 9000, 25_000]) {
      expect([...log.texts(from)]).toEqual(events.slice(from));
    }
    const cut = budget.cut.reduce((sum, each) => sum + each.left, 0);
    expect(cut > 0).toBe(room < 100_000_000);
    let missing = 0;
    for (const each of calls) {
      const kept = idsOf(each.reads);
      expect(kept).toEqual(each.told.slice(0, kept.length));
      missing += each.told.length - kept.length;
    }
    expect(missing).toBe(cut);
  },
);

test("notes are read as the reads that they are of", () => {
  const budget = createBudget(600);
  const log = new ReadLog(budget);
  log.add(ids(1, 2), 0.5);
  const times = [toNote(3, 0), toNote(LAST_ID, LONGEST_TIME), toNote(6, SAME_READ)];
  const starts = [
    { at: 0, time: 10 },
    { at: 3, time: 50_000 },
  ];
  expect(log.addTokens(Uint32Array.of(...times, toNote(8, 2)), starts)).toBe(2);
  expect(withoutPositions(log.reads())).toEqual([
    { ms: 0.5, tokens: ids(1, 2) },
    { ms: 1, tokens: ids(3) },
    { ms: 1 + LONGEST_TIME / 10, tokens: ids(LAST_ID, 6) },
    { ms: 5000.2, tokens: ids(8) },
  ]);
  const many = new Uint32Array(100).fill(toNote(7, 0));
  expect(log.addTokens(many, [{ at: 0, time: 50_010 }])).toBe(-1);
  expect(budget.cut).toEqual([{ what: "reads", left: 106 - log.units }]);
  expect(log.addTokens(many.subarray(0, 1), [{ at: 0, time: 50_010 }])).toBe(-1);
  expect(budget.cut).toEqual([{ what: "reads", left: 107 - log.units }]);
});

test("a turn may take longer than a time can tell", () => {
  const log = new ReadLog(createBudget(Infinity));
  const latest = 0xff_ff_ff_fe;
  const notes = Uint32Array.of(toNote(3, 0), toNote(4, 1), toNote(5, LONGEST_TIME));
  log.addTokens(notes, [{ at: 0, time: latest }]);
  expect(withoutPositions(log.reads())).toEqual(
    [3, 4, 5].map((id) => ({ ms: latest / 10, tokens: ids(id) })),
  );
});

function idsOf(log: ReadLog): number[] {
  return [...log.reads()].flatMap(({ tokens }) => (tokens.type === "ids" ? tokens.ids : []));
}
