/** Long records are put together in slices, between which the event loop serves others. */
import { createPause, type Pause } from "../../streams/slices.ts";

/** Tokens, events or elements of a list that are handled in one slice: some milliseconds of work. */
export const SLICE = 1024;

/** Yields where another slice should begin. */
export type Sliced<T> = Generator<void, T, void>;

export async function runSliced<T>(steps: Sliced<T>, pause: Pause = createPause()): Promise<T> {
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

/** Makes a list of what may be too much for one slice. */
export type Collect = <T>(items: () => Iterable<T>) => Sliced<T[]>;

export const collectNow: Collect = (items) => collectSliced(items());

/** Lists in their place that are read, element by element, when they are written. Nothing else can be done with them. */
export const collectLazily: Collect = function* <T>(items: () => Iterable<T>): Sliced<T[]> {
  yield;
  const list: Iterable<T> = new LazyList(items);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what is made so is only iterated and written
  return list as T[];
};

/**
 * A list that is written as JSON, or read, without being there as a whole: the garbage collector copies long lists of
 * objects in pauses of tens of milliseconds. What it is read from must not change any more.
 */
export class LazyList<T> implements Iterable<T> {
  readonly #items: () => Iterable<T>;

  constructor(items: () => Iterable<T>) {
    this.#items = items;
  }

  [Symbol.iterator](): Iterator<T> {
    return this.#items()[Symbol.iterator]();
  }
}

/**
 * The same text as by `JSON.stringify`, of data that JSON can hold; members that are undefined are left out. In chunks, each made
 * when it is asked for and after a pause.
 */
export async function* stringifyInChunks(
  value: object,
  pause = createPause(),
): AsyncGenerator<string> {
  let text = "";
  let elements = 0;
  for (const chunk of jsonChunks(value)) {
    text += chunk.text;
    elements += chunk.elements;
    if (text.length < CHUNK && elements < SLICE) continue;
    yield text;
    text = "";
    elements = 0;
    await pause();
  }
  yield text;
}

/** In characters. */
const CHUNK = 262_144;
/** Lists and objects with fewer elements are entered; the others are cut into such slices. */
const FEW = 64;

/** A part of the text, and how many elements of a long list or object are in it. */
interface JsonChunk {
  readonly text: string;
  readonly elements: number;
}

function chunkOf(text: string, elements = 0): JsonChunk {
  return { text, elements };
}

function* jsonChunks(value: unknown): Generator<JsonChunk> {
  if (Array.isArray(value)) {
    yield chunkOf("[");
    const size = value.length > FEW ? SLICE : 1;
    for (let from = 0; from < value.length; from += size) {
      if (from > 0) yield chunkOf(",");
      if (size > 1) yield elementsChunk(value.slice(from, from + size));
      else yield* jsonChunks(value[from] ?? null);
    }
    yield chunkOf("]");
  } else if (value instanceof LazyList) {
    yield* lazyChunks(value);
  } else if (typeof value === "object" && value !== null) {
    const members = Object.entries(value).filter(([, member]) => member !== undefined);
    yield chunkOf("{");
    const size = members.length > FEW ? SLICE : 1;
    for (let from = 0; from < members.length; from += size) {
      if (from > 0) yield chunkOf(",");
      if (size > 1) {
        const some = members.slice(from, from + size);
        const text = JSON.stringify(Object.fromEntries(some)).slice(1, -1);
        yield chunkOf(text, some.length);
      } else {
        const [name, member] = members[from] ?? [];
        yield chunkOf(`${JSON.stringify(name)}:`);
        yield* jsonChunks(member);
      }
    }
    yield chunkOf("}");
  } else {
    yield chunkOf(JSON.stringify(value));
  }
}

function* lazyChunks(list: Iterable<unknown>): Generator<JsonChunk> {
  let elements: unknown[] = [];
  let before = "[";
  for (const element of list) {
    elements.push(element);
    if (elements.length < SLICE) continue;
    yield chunkOf(before);
    yield elementsChunk(elements);
    elements = [];
    before = ",";
  }
  if (elements.length > 0 || before === "[") yield chunkOf(before);
  if (elements.length > 0) yield elementsChunk(elements);
  yield chunkOf("]");
}

function elementsChunk(elements: readonly unknown[]): JsonChunk {
  return chunkOf(JSON.stringify(elements).slice(1, -1), elements.length);
}
