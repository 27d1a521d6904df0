/**
 * The stored form of a sampled step: a version, then numbers in base64url digits, three for an id and six for any other number.
 * Stored data is untrusted: each message is checked separately before its use.
 */
import { readSpan } from "../harmony/read-span.ts";
import type { IdsMark, SampledSpan, SampledStep } from "../harmony/sampled-step.ts";
import { rememberByText } from "../harmony/text-memory.ts";
import { TEXT_BUDGET } from "../turn/prompt/text-budget.ts";
import type { ReadStep } from "../turn/sampled/put-back.ts";

/** Version of the format. Entries of another version count as missing. */
const VERSION = "2";
const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const CODES = new TextEncoder().encode(DIGITS);
/** Values of digits, by character code; undefined for other characters. */
const VALUES: (number | undefined)[] = [];
for (const [value, code] of CODES.entries()) VALUES[code] = value;
/** Digits of an id, which is below 2^18. */
const ID_DIGITS = 3;
/** Digits of any other number, which has at most 32 bits. */
const NUMBER_DIGITS = 6;
/** Number of values before the spans. */
const HEAD = 7;

export function toStoredStep({ start, end, spans, isText }: SampledStep): string {
  const numbers = HEAD + 2 * spans.length;
  const count = spans.reduce((sum, { ids }) => sum + ids.length, 0);
  const text = new Uint8Array(1 + NUMBER_DIGITS * numbers + ID_DIGITS * count);
  let to = 0;
  const write = (value: number, digits: number) => {
    let rest = value >>> 0;
    for (let at = to + digits; at > to; rest >>>= 6) text[--at] = CODES[rest & 63] ?? 0;
    to += digits;
  };
  text[to++] = VERSION.charCodeAt(0);
  for (const { length, low, high } of [start, end]) {
    for (const each of [length, low, high]) write(each, NUMBER_DIGITS);
  }
  write(isText ? 1 : 0, NUMBER_DIGITS);
  for (const { at, ids } of spans) {
    write(at, NUMBER_DIGITS);
    write(ids.length, NUMBER_DIGITS);
    for (const id of ids) write(id, ID_DIGITS);
  }
  return new TextDecoder().decode(text);
}

/**
 * Parses a stored step and its messages. Every request of a loop repeats earlier steps, so they are cached by tenant. Undefined: the
 * step was stored by another version of the gateway.
 */
export function readStep(stored: string, tenant: string): ReadStep | "damaged" | undefined {
  return remembered(stored, tenant).read;
}

const remembered = rememberByText(
  (stored): { readonly read: ReadStep | "damaged" | undefined } => {
    const step = readStoredStep(stored);
    if (step === "other-version") return { read: undefined };
    if (step === "damaged") return { read: "damaged" };
    return { read: { step, spans: step.spans.map(({ ids }) => readSpan(ids)) } };
  },
  {
    budget: TEXT_BUDGET,
    // A byte is a third of an id, which takes 12 bytes as a number, 11 in its piece, and its text.
    bytesOf: (stored) => 10 * stored.length + 2048,
  },
);

export function readStoredStep(stored: string): SampledStep | "damaged" | "other-version" {
  if (stored !== "" && !stored.startsWith(VERSION)) return "other-version";
  const digits = new DigitReader(stored, VERSION.length);
  const readMark = (): IdsMark => {
    const [length, low, high] = [digits.number(), digits.number(), digits.number()];
    return { length, low: low | 0, high: high | 0 };
  };
  const [start, end] = [readMark(), readMark()];
  const isText = digits.number() === 1;
  const spans: SampledSpan[] = [];
  while (digits.left > 0) {
    const at = digits.number();
    spans.push({ at, ids: digits.ids(digits.number()) });
  }
  return digits.left === 0 ? { start, end, spans, isText } : "damaged";
}

class DigitReader {
  /** Number of characters left. Negative: the text has ended within a number, or contains other characters than digits. */
  left: number;
  readonly #text: string;

  constructor(text: string, from: number) {
    this.#text = text;
    this.left = text.length - from;
  }

  number(): number {
    return this.#read(NUMBER_DIGITS);
  }

  ids(count: number): number[] {
    const ids: number[] = [];
    for (let at = 0; at < count && this.left > 0; at++) ids.push(this.#read(ID_DIGITS));
    if (ids.length < count) this.left = -1;
    return ids;
  }

  #read(digits: number): number {
    const from = this.#text.length - this.left;
    let value = 0;
    for (let at = from; at < from + digits; at++) {
      const digit = VALUES[this.#text.charCodeAt(at)];
      if (this.left < digits || digit === undefined) {
        this.left = -1;
        return 0;
      }
      value = ((value << 6) | digit) >>> 0;
    }
    this.left -= digits;
    return value;
  }
}
