/**
 * Counted steps for the worst texts that can come in from outside, at 10 KB and at the maximum that is read. Engines, pages and
 * Redis have their own tests.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type StepCounter, startStepCounter } from "./helpers/count-steps.ts";

const SMALL = 10_000;
/** Bytes of one read, and of input that is fed byte by byte. */
const READ = 16_384;
const BY_BYTES = 50_000;

/** The start of a text, and the part that is repeated behind it. */
type Text = readonly [start: string, unit: string];

interface Place {
  /** The name of the function in `outside-work.ts`. */
  readonly place: string;
  /** The place's maximum, or 1 MB where that is larger. */
  readonly most: number;
  readonly texts: readonly [Text, ...Text[]];
  /** Whether the text is fed only as a whole, not byte by byte. */
  readonly isWhole?: true;
}

const JSON_TEXTS = [
  ["", " "],
  ["", "["],
  ["", '{"a":'],
  ['"', "\\u0061"],
  ["[", "1,"],
  ['"', "a"],
] as const;
const LINES = [
  ["", "a"],
  ["", "\n"],
  ["", "{}\n"],
  ["", "\r\n"],
] as const;
const MESSAGE = '{"jsonrpc":"2.0","method":"notifications/progress","params":{}}';
const textOf = (start: string) => `{"text":"${start}`;

const PLACES: readonly Place[] = [
  {
    place: "MCP over stdio",
    most: 4_000_000,
    texts: [...LINES, ...JSON_TEXTS, ["", `${MESSAGE}\n`]],
  },
  {
    place: "MCP over HTTP, JSON",
    most: 4_000_000,
    texts: [...LINES, ...JSON_TEXTS],
  },
  {
    place: "MCP over HTTP, events",
    most: 4_000_000,
    texts: [
      ...LINES,
      ["data: ", "a"],
      ["", "data: x\n"],
      ["", "data: x\n\n"],
      ["", `data: ${MESSAGE}\n\n`],
      ["", ": ping\r"],
      ["", "id: 1\n"],
    ],
  },
  { place: "Python: answers", most: 4_360_000, texts: [...LINES, ...JSON_TEXTS] },
  { place: "Python: errors", most: 65_536, texts: LINES },
  {
    place: "WebSocket: bytes",
    // Each message takes one iteration of the event loop.
    most: 100_000,
    // A stream of Node moves its list of waiting reads, of at most 64 KiB, at each 256th.
    isWhole: true,
    texts: [
      // Messages of one character, fragments, and fragments of nothing.
      ["", "\u0081\u0081\0\0\0\0a"],
      ["\u0001\u0081\0\0\0\0a", "\0\u0081\0\0\0\0a"],
      ["\u0001\u0080\0\0\0\0", "\0\u0080\0\0\0\0"],
    ],
  },
  { place: "WebSocket: one message", most: 1_000_000, texts: JSON_TEXTS },
  {
    place: "values of a body",
    most: 1_000_000,
    texts: [...JSON_TEXTS, ['"', "\\\\"], ['"', '\\"'], ["", '""']],
    isWhole: true,
  },
  {
    place: "convert: harmony",
    most: 1_000_000,
    texts: [
      ...LINES,
      ...JSON_TEXTS,
      [textOf(""), "<|start|>"],
      [textOf(""), "<|"],
      [textOf(""), "<|start|>user<|message|>a<|end|>"],
      [textOf("<|start|>assistant"), "<|channel|>analysis"],
      [textOf("<|start|>assistant"), " to=a"],
      ['{"ids":[', "200006,"],
    ],
  },
  {
    place: "convert: openchatml",
    most: 1_000_000,
    texts: [
      ...LINES,
      ...JSON_TEXTS,
      [textOf(""), "[OBJECT]"],
      [textOf(""), "<|im_start|>"],
      [textOf(""), "<|im_start|>user\\na<|im_end|>\\n"],
    ],
  },
  {
    place: "convert: chat",
    most: 1_000_000,
    texts: [
      ...LINES,
      ...JSON_TEXTS,
      ["[", '{"role":"user","content":"a"},'],
      ['[{"role":"user","content":"', "<|end|>"],
    ],
  },
  { place: "captured file", most: 1_000_000, texts: JSON_TEXTS, isWhole: true },
];

let counter: StepCounter;
beforeAll(async () => {
  counter = await startStepCounter(new URL("helpers/outside-work.ts", import.meta.url));
});
afterAll(() => counter.stop());

const TIMEOUT_MS = 120_000;

describe.each(PLACES)("$place", { timeout: TIMEOUT_MS }, ({ place, most, texts, isWhole }) => {
  const count = async ([start, unit]: Text, length: number, chunk = READ) => {
    const long = (start + unit.repeat(Math.ceil(length / unit.length))).slice(0, length);
    return (await counter.count({ place, text: close(long), chunk: `${chunk}` })).steps;
  };
  // The first run is not counted: it builds tables on first use.
  beforeAll(() => count(["", "a"], 100));

  test.each(texts)("%j, then %j again and again, costs what its length costs", async (...text) => {
    const small = await count(text, SMALL);
    const large = await count(text, most);
    expect(large / small).toBeLessThanOrEqual((1.5 * most) / SMALL);
  });

  test.skipIf(isWhole)(
    "so does a text that arrives byte by byte (skipped where it is read whole)",
    async () => {
      const small = await count(texts[0], SMALL, 1);
      const large = await count(texts[0], BY_BYTES, 1);
      expect(large / small).toBeLessThanOrEqual((1.5 * BY_BYTES) / SMALL);
    },
  );
});

/** Closes a JSON text, so that the parser reads it to its end. */
function close(long: string): string {
  if (long.startsWith('{"text":"')) return `${long.replace(/\\$/, "")}"}`;
  if (long.startsWith('{"ids":[')) return `${long.replace(/[\d,]*$/, "")}]}`;
  return long;
}
