/**
 * The stored form of a sampled step: a version, then numbers of seven bits a byte, in base64url. About three bytes for a
 * token. What is read is not trusted: each message is checked alone before it is put back.
 */
import type { SampledSpan, SampledStep } from "../turn/sampled/sampled-step.ts";

const VERSION = "1";

export function toStoredStep({ start, end, spans, isText }: SampledStep): string {
  const bytes: number[] = [];
  const write = (value: number) => {
    let rest = value >>> 0;
    for (; rest > 0x7f; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
    bytes.push(rest);
  };
  for (const { length, low, high } of [start, end]) [length, low, high].forEach(write);
  write(isText ? 1 : 0);
  for (const { at, ids } of spans) [at, ids.length, ...ids].forEach(write);
  return VERSION + toBase64(Uint8Array.from(bytes));
}

/** Undefined: damaged, or of another version. */
export function readStoredStep(stored: string): SampledStep | undefined {
  if (!stored.startsWith(VERSION)) return undefined;
  const numbers = readNumbers(stored.slice(VERSION.length));
  if (numbers === undefined || numbers.length < 7) return undefined;
  const [length = 0, low = 0, high = 0, endLength = 0, endLow = 0, endHigh = 0, text = 0] = numbers;
  const spans: SampledSpan[] = [];
  for (let next = 7; next < numbers.length;) {
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

/** Undefined: no base64url, or the last number is not complete or has more than 32 bits. */
function readNumbers(encoded: string): number[] | undefined {
  let binary: string;
  try {
    binary = atob(encoded.replaceAll("-", "+").replaceAll("_", "/"));
  } catch {
    return undefined;
  }
  const numbers: number[] = [];
  let value = 0;
  let shift = 0;
  for (let at = 0; at < binary.length; at++) {
    const byte = binary.charCodeAt(at);
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

/** Of few bytes at a time: arguments of a call are limited in number. */
const CHUNK = 8192;

function toBase64(bytes: Uint8Array): string {
  let binary = "";
  for (let at = 0; at < bytes.length; at += CHUNK) {
    binary += String.fromCharCode(...bytes.subarray(at, at + CHUNK));
  }
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
