/** What the listener of a turn is told of ids that were read one by one. */
import { expect, test } from "vitest";
import type { Engine } from "../../src/engines/engine.ts";
import { type TokenId, tokenText } from "../../src/tokenizer/index.ts";
import type { TokenHolder, TurnListener } from "../../src/turn/facts.ts";
import {
  idOf,
  LONGEST_TIME,
  MOST_NOTES,
  SAME_READ,
  timeOf,
  toNote,
} from "../../src/turn/token-notes.ts";
import { readsOf } from "../helpers/noted-reads.ts";
import { scriptedEngine } from "../helpers/scripted-engine.ts";
import { spelledIds } from "../helpers/spelled.ts";
import { startTurn, turnWith } from "../helpers/turns.ts";

test.each([0, 1, 131_071, 131_072, 201_087])("a note keeps id %d and its time", (id) => {
  for (const time of [0, 1, LONGEST_TIME / 2, LONGEST_TIME, SAME_READ]) {
    const note = toNote(id, time);
    expect([idOf(note), timeOf(note)]).toEqual([id, time]);
    // What V8 keeps as a plain number.
    expect(note).toBe(note | 0);
  }
});

interface Read {
  readonly ids: readonly TokenId[];
  /** By the clock. */
  readonly time: number;
}

/** After this, a clock of 32 bits goes on with the smallest number. */
const LATEST = 2 ** 31 - 1;

interface Reads {
  /** Tenths of a millisecond before the read of this index. */
  readonly pause: (at: number) => number;
  /** Time of the clock before the first read. */
  readonly start?: number;
  readonly idsPerRead?: number;
  /** Whether this read says how much of the prompt was cached: the listener is told of it alone. */
  readonly isAlone?: (at: number) => boolean;
  /** How many ids are told of at once: at least, and with those deferred after the last of them. */
  readonly atOnce?: number;
}

const EVEN = { pause: () => 5 };

test.each<readonly [string, Reads]>([
  ["no time passes", { pause: () => 0 }],
  ["time passes", { pause: (at) => at % 7 }],
  ["the model pauses", { pause: (at) => (at % 50 === 49 ? LONGEST_TIME + (at % 3) : 3) }],
  ["every token takes long", { pause: () => LONGEST_TIME + 1 }],
  ["the clock begins again", { ...EVEN, start: LATEST - 1000 }],
  ["several ids come together", { ...EVEN, idsPerRead: 4 }],
  ["what is deferred has no room for a read", { ...EVEN, idsPerRead: 3 }],
  ["few come with more than ids", { ...EVEN, isAlone: (at) => at % 100 === 0, atOnce: 99 }],
  ["most come with more than ids", { ...EVEN, isAlone: (at) => at % 100 > 2, atOnce: 2 }],
])("times and numbers of reads where %s", async (_, options) => {
  const {
    pause,
    start = 0,
    idsPerRead = 1,
    isAlone = () => false,
    atOnce = MOST_NOTES - 32,
  } = options;
  let now = start;
  const words = Array.from({ length: 1600 }, (__, at) => ` word${at % 9}${at % 7}`).join("");
  const script = spelledIds(`<|channel|>final<|message|>${words}<|return|>`);
  const reads: Read[] = [];
  const scripted = scriptedEngine([script], { batch: idsPerRead });
  const engine: Engine = {
    ...scripted,
    complete: async function* complete(request, signal) {
      for await (const event of scripted.complete(request, signal)) {
        now = (now + pause(reads.length)) | 0;
        if (event.type === "ids") reads.push({ ids: event.ids, time: now });
        yield event.type === "ids" && isAlone(reads.length) ? { ...event, cachedTokens: 0 } : event;
      }
    },
  };

  const told: Read[] = [];
  const sizes: number[] = [];
  const idsOfNumber = new Map<number, readonly TokenId[]>();
  let number = 0;
  let untold: TokenHolder | undefined;
  const listener: TurnListener = {
    onFact(fact) {
      untold?.tell();
      if (fact.type === "ids") told.push({ ids: fact.ids, time: now });
    },
    tokens: {
      clock: { alike: 0, answer: 0, now: () => now },
      begin(holder) {
        untold = holder;
        return (number += MOST_NOTES);
      },
      noteTokens(notes, starts) {
        sizes.push(notes.length);
        expect(starts[0]?.at).toBe(0);
        let at = number;
        for (const [index, since] of starts.entries()) {
          const end = starts[index + 1]?.at ?? notes.length;
          for (const { time, ids } of readsOf(notes.subarray(since.at, end))) {
            idsOfNumber.set(at++, ids);
            told.push({ ids, time: (since.time + time) | 0 });
          }
        }
      },
      noteRead: ({ ids }) => void told.push({ ids, time: now }),
    },
  };
  const texts = new Map<number, string>();
  for await (const event of startTurn(engine, turnWith(), { listener })) {
    if (event.type === "part-delta" && event.token) texts.set(event.token, event.text);
  }

  untold?.tell();
  expect(told).toEqual(reads);
  expect(texts.size).toBeGreaterThan(0.75 * reads.filter((__, at) => !isAlone(at + 1)).length);
  for (const [each, text] of texts) {
    expect(
      idsOfNumber
        .get(each)
        ?.map((id) => tokenText(id))
        .join(""),
    ).toBe(text);
  }
  expect(Math.max(...sizes)).toBeGreaterThanOrEqual(atOnce);
  expect(Math.max(...sizes)).toBeLessThan(atOnce + 32);
});
