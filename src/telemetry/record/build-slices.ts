/** Long records are built in slices, between which the event loop can serve other requests. */
import { createPause, type Pause } from "../../streams/slices.ts";

/** Number of tokens, events or list elements in one slice: some milliseconds of work. */
export const SLICE = 1024;

/** A generator that yields between slices. */
export type RecordSlices<T> = Generator<void, T, void>;

export async function runSliced<T>(
  steps: RecordSlices<T>,
  pause: Pause = createPause(),
): Promise<T> {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
    await pause();
  }
}

export function* mapSliced<T, U>(items: readonly T[], map: (item: T) => U): RecordSlices<U[]> {
  const mapped: U[] = [];
  for (const item of items) {
    mapped.push(map(item));
    if (mapped.length % SLICE === 0) yield;
  }
  return mapped;
}

/**
 * Like `JSON.stringify`, for data that JSON can hold, without undefined members, in chunks. Each chunk is built when it is read,
 * after a pause.
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

/** Size of a chunk, in characters. */
const CHUNK = 262_144;
/** Maximum elements of a list or object that is handled as a whole; longer ones are cut into slices of this size. */
const FEW = 64;

/** A part of the text, and the number of elements of a long list or object in it. */
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

function elementsChunk(elements: readonly unknown[]): JsonChunk {
  return chunkOf(JSON.stringify(elements).slice(1, -1), elements.length);
}
