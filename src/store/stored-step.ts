/**
 * The stored form of a sampled step: a version, then numbers of seven bits a byte, in base64url. About three bytes for a
 * token. What is read is not trusted: each message is checked alone before it is put back.
 */
import { fromBase64Url, toBase64Url } from "./base64url.ts";
import type { SampledSpan, SampledStep } from "../turn/sampled/sampled-step.ts";

const VERSION = "1";
/** Numbers before the spans. */
const HEAD = 7;
/** At most, with seven bits of 32 in each. */
const BYTES_OF_NUMBER = 5;

export function toStoredStep({ start, end, spans, isText }: SampledStep): string {
  const count = spans.reduce((sum, { ids }) => sum + 2 + ids.length, HEAD);
  const bytes = new Uint8Array(count * BYTES_OF_NUMBER);
  let to = 0;
  const write = (value: number) => {
    let rest = value >>> 0;
    for (; rest > 0x7f; rest >>>= 7) bytes[to++] = (rest & 0x7f) | 0x80;
    bytes[to++] = rest;
  };
  for (const { length, low, high } of [start, end]) [length, low, high].forEach(write);
  write(isText ? 1 : 0);
  for (const { at, ids } of spans) {
    write(at);
    write(ids.length);
    for (const id of ids) write(id);
  }
  return VERSION + toBase64Url(bytes.subarray(0, to));
}

/** Undefined: damaged, or of another version. */
export function readStoredStep(stored: string): SampledStep | undefined {
  if (!stored.startsWith(VERSION)) return undefined;
  const bytes = fromBase64Url(stored.slice(VERSION.length));
  const numbers = bytes && readNumbers(bytes);
  if (numbers === undefined || numbers.length < HEAD) return undefined;
  const [length = 0, low = 0, high = 0, endLength = 0, endLow = 0, endHigh = 0, text = 0] = numbers;
  const spans: SampledSpan[] = [];
  for (let next = HEAD; next < numbers.length;) {
    const [at, count] = [numbers[next], numbers[next + 1]];
    if (at === undefined || count === undefined || count > numbers.length - next - 2) {
      return undefined;
    }
    spans.push({ at, ids: numbers.slice(next + 2, next + 2 + count) });
    next += 2 + count;
  }
  return {
    start: { length, low: low | 0, high: high | 0 },
    end: { length: endLength, low: endLow | 0, high: endHigh | 0 },
    spans,
    isText: text === 1,
  };
}

/** Undefined: the last number is not complete, or one has more than 32 bits. */
function readNumbers(bytes: Uint8Array): number[] | undefined {
  const numbers: number[] = [];
  let value = 0;
  let shift = 0;
  for (const byte of bytes) {
    if (shift > 28) return undefined;
    value = (value | ((byte & 0x7f) << shift)) >>> 0;
    if (byte > 0x7f) {
      shift += 7;
    } else {
      numbers.push(value);
      value = 0;
      shift = 0;
    }
  }
  return shift === 0 ? numbers : undefined;
}
