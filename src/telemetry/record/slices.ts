/** Long records are put together in slices, between which the event loop serves others. */
import { createPause, type Pause } from "../../turn/slices.ts";

/** Tokens, events or elements of a list that are handled in one slice: some milliseconds of work. */
export const SLICE = 1024;

/** Yields where another slice should begin. */
export type Sliced<T> = Generator<void, T, void>;

export async function runSliced<T>(steps: Sliced<T>, pause: Pause): Promise<T> {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
    await pause();
  }
}

/** A list of all that an iterator gives. */
export function* collectSliced<T>(items: Iterable<T>): Sliced<T[]> {
  const list: T[] = [];
  for (const item of items) {
    list.push(item);
    if (list.length % SLICE === 0) yield;
  }
  return list;
}

/** The same text as by `JSON.stringify`, of data that JSON can hold; members that are undefined are left out. */
export async function stringifySliced(value: object, pause = createPause()): Promise<string> {
  let text = "";
  let sinceLast = 0;
  for (const chunk of jsonChunks(value)) {
    text += chunk;
    sinceLast += chunk.length;
    if (sinceLast < CHUNK) continue;
    sinceLast = 0;
    await pause();
  }
  return text;
}

/** In characters. */
const CHUNK = 262_144;
/** Lists and objects with fewer elements are entered; the others are cut into such slices. */
const FEW = 64;

function* jsonChunks(value: unknown): Generator<string> {
  if (Array.isArray(value)) {
    yield "[";
    const size = value.length > FEW ? SLICE : 1;
    for (let from = 0; from < value.length; from += size) {
      if (from > 0) yield ",";
      if (size > 1) yield JSON.stringify(value.slice(from, from + size)).slice(1, -1);
      else yield* jsonChunks(value[from] ?? null);
    }
    yield "]";
  } else if (typeof value === "object" && value !== null) {
    const members = Object.entries(value).filter(([, member]) => member !== undefined);
    yield "{";
    const size = members.length > FEW ? SLICE : 1;
    for (let from = 0; from < members.length; from += size) {
      if (from > 0) yield ",";
      if (size > 1) {
        yield JSON.stringify(Object.fromEntries(members.slice(from, from + size))).slice(1, -1);
      } else {
        const [name, member] = members[from] ?? [];
        yield `${JSON.stringify(name)}:`;
        yield* jsonChunks(member);
      }
    }
    yield "}";
  } else {
    yield JSON.stringify(value);
  }
}
