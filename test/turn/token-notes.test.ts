/** What the listener of a turn is told of ids that were read one by one. */
import { expect, test } from "vitest";
import type { Engine } from "../../src/engines/engine.ts";
import { type TokenId, tokenText } from "../../src/tokenizer/index.ts";
import type { TokenHolder, TurnListener } from "../../src/turn/facts.ts";
import { idOf, LONGEST_TIME, SAME_READ, timeOf, toNote } from "../../src/turn/token-notes.ts";
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

test.each([
  ["no time passes", 480, () => 0],
  ["time passes", 480, (at: number) => at % 7],
  ["the model pauses", 480, (at: number) => (at % 50 === 49 ? LONGEST_TIME + (at % 3) : 3)],
  ["every token takes long", 480, () => LONGEST_TIME + 1],
  ["the clock begins again", 480, () => 5, LATEST - 1000],
  ["several ids come together", 480, () => 5, 0, 4],
  ["what is deferred has no room for a read", 480, () => 5, 0, 3],
])("times and numbers of reads where %s", async (_, atOnce, tenthsBefore, start = 0, batch = 1) => {
  let now = start;
  const words = Array.from({ length: 400 }, (__, at) => ` word${at % 9}${at % 7}`).join("");
  const script = spelledIds(`<|channel|>final<|message|>${words}<|return|>`);
  const reads: Read[] = [];
  const scripted = scriptedEngine([script], { batch });
  const engine: Engine = {
    ...scripted,
    complete: async function* complete(request, signal) {
      for await (const event of scripted.complete(request, signal)) {
        now = (now + tenthsBefore(reads.length)) | 0;
        if (event.type === "ids") reads.push({ ids: event.ids, time: now });
        yield event;
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
        return (number += 1000);
      },
      noteTokens(notes, starts) {
        sizes.push(notes.length);
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
  expect(texts.size).toBeGreaterThan(300 / batch);
  for (const [each, text] of texts) {
    expect(
      idsOfNumber
        .get(each)
        ?.map((id) => tokenText(id))
        .join(""),
    ).toBe(text);
  }
  // As many as were deferred after the last of these may be told of with them.
  expect(Math.max(...sizes)).toBeGreaterThanOrEqual(atOnce);
  expect(Math.max(...sizes)).toBeLessThan(atOnce + 32);
});
