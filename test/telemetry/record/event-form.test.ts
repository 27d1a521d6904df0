/** Events of a stream are kept without what they have in common, and come back as they were. */
import {
  type Arbitrary,
  array,
  assert,
  constantFrom,
  nat,
  oneof,
  property,
  string,
} from "fast-check";
import { expect, test } from "vitest";
import { EventForm, learnForm } from "../../../src/telemetry/record/event-form.ts";
import { TextLog } from "../../../src/telemetry/record/text-log.ts";

/** As the APIs write them: of a text and the number of the event. */
const EVENTS: readonly ((text: string, index: number) => string)[] = [
  (text) => `data: {"id":"gen-1","delta":{"content":${JSON.stringify(text)}},"logprobs":null}\n\n`,
  (text) => {
    const json = JSON.stringify(text);
    return `data: {"id":"gen-1","delta":{"reasoning":${json},"reasoning_details":[{"text":${json},"index":0}]}}\n\n`;
  },
  (text) => {
    const json = JSON.stringify(text);
    return `data: {"id":"gen-1","reasoning":${json},"reasoning_content":${json},"details":[{"text":${json}}]}\n\n`;
  },
  (text, index) =>
    `event: response.output_text.delta\ndata: {"sequence_number":${index},"item_id":"msg_1","delta":${JSON.stringify(text)}}\n\n`,
  (text) =>
    `event: content_block_delta\ndata: {"index":0,"delta":{"text":${JSON.stringify(text)}}}\n\n`,
  // Of nothing that can be read.
  (text, index) => `${text}${index}"${text}`,
];

const anyText = oneof(
  string({ maxLength: 8 }),
  string({ unit: "grapheme", maxLength: 8 }),
  constantFrom("", '"', "\\", '\\"', "7", "8", "𝄞", "é".repeat(3000), "a".repeat(9000)),
);
const anyEvents: Arbitrary<string[]> = array(
  constantFrom(...EVENTS.keys()).chain((kind) =>
    array(anyText, { maxLength: 30 }).map((texts) => ({ kind, texts })),
  ),
  { maxLength: 6 },
).map((runs) =>
  runs
    .flatMap(({ kind, texts }) => texts.map((text) => ({ kind, text })))
    .map(({ kind, text }, index) => EVENTS[kind]?.(text, index) ?? ""),
);

test("events come back as they were written, whatever they have in common", () => {
  assert(
    property(anyEvents, nat(40), (events, from) => {
      const log = new TextLog({ take: () => true });
      for (const [index, text] of events.entries()) log.add(text, index);
      expect(Array.from(log.texts(), ({ text }) => text)).toEqual(events);
      expect(Array.from(log.texts(from), ({ text }) => text)).toEqual(events.slice(from));
    }),
    { numRuns: 300 },
  );
});

test.each([...EVENTS.keys()].slice(0, 5))(
  "of events of kind %i, little more is kept than their texts",
  (kind) => {
    let taken = 0;
    const log = new TextLog({
      take: (bytes) => {
        taken += bytes;
        return true;
      },
    });
    let written = 0;
    for (let index = 0; index < 4000; index++) {
      const event = EVENTS[kind]?.(` word${index % 7}`, index) ?? "";
      written += event.length;
      log.add(event, index);
    }
    expect(written).toBeGreaterThan(200_000);
    expect(taken).toBeLessThan(written / 2);
  },
);

test("who goes on where one has stopped gets the rest, also in the middle of a long answer", () => {
  const log = new TextLog({ take: () => true });
  const events = Array.from({ length: 13_000 }, (_, index) => {
    if (index % 1500 === 7) return "x".repeat(9000);
    const kind = Math.floor(index / 3100) % EVENTS.length;
    return EVENTS[kind]?.(index % 11 === 0 ? `é${index}` : ` word${index}`, index) ?? "";
  });
  for (const [index, text] of events.entries()) log.add(text, index);
  for (const from of [0, 1, 4095, 4096, 4097, 8191, 8192, 9300, 12_288, 12_999, 13_000, 14_000]) {
    expect([from, Array.from(log.texts(from), ({ text }) => text)]).toEqual([
      from,
      events.slice(from),
    ]);
  }
});

test("an event that differs in anything else is of another form", () => {
  const [, event] = EVENTS;
  if (event === undefined) throw new Error("no events");
  const like = (): EventForm => {
    const form = learnForm(event(" one", 1), event(" other", 2));
    if (form === undefined) throw new Error("nothing was learned");
    return form;
  };
  const next = event(" third", 3);
  expect(like().match(next)).toBe(" third".length);
  for (let at = 0; at < next.length; at++) {
    const changed = `${next.slice(0, at)}#${next.slice(at + 1)}`;
    expect([at, like().match(changed)]).toEqual([at, -1]);
  }
});

test("nothing is learned from equal events, from long ones, and from those with little in common", () => {
  expect(learnForm("data: 1\n\n", "data: 1\n\n")).toBeUndefined();
  expect(learnForm('{"text":"a"}', '{"text":"b"}')).toBeUndefined();
  const long = (text: string): string => `{"text":"${text}","rest":"${"x".repeat(2048)}"}`;
  expect(learnForm(long("a"), long("b"))).toBeUndefined();
  // Two texts that differ in different ways.
  const two = (first: string, second: string): string =>
    `{"id":"the same in all of these events","a":"${first}","b":"${second}"}`;
  expect(learnForm(two("1", "2"), two("3", "4"))).toBeUndefined();
});
