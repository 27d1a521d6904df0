/**
 * Reads the bodies of conversations. Each request of a conversation begins with the messages of the previous one, byte
 * for byte: bytes that are equal to the previous body's are neither decoded nor parsed again.
 */
import type { Context } from "hono";
import { hasMembers, parseJson } from "../../engines/untyped-json.ts";
import type { MemoryBudget } from "../../harmony/text-memory.ts";
import { type Pause, runAtOnce } from "../../streams/slices.ts";
import { BODY_BUDGET } from "../../turn/prompt/text-budget.ts";
import type { ApiEnv } from "./client.ts";
import {
  findMessageEnds,
  findMessageList,
  type MessageEnds,
  type MessageList,
} from "./message-ends.ts";
import { refuseManyValues } from "./limits.ts";
import { parseBody, parseInStages } from "./parse-request.ts";
import { createStages } from "./stages.ts";

/** The body of a request, read as JSON. */
export interface ReadBody {
  /** Length in bytes, or in characters if only text was available. */
  readonly length: number;
  readonly value: object;
  /** JSON of the body for reading other members: messages may be missing. */
  readonly outline: string;
  /** The body's text as it was sent. */
  readonly text: () => string;
}

/** The beginning of an earlier body. */
interface Beginning extends MessageEnds {
  readonly bytes: Uint8Array;
  /** The messages that end at `ends`. */
  readonly messages: readonly unknown[];
  /** Memory that the beginning takes, in bytes. */
  readonly cost: number;
}

type Beginnings = Map<string, Beginning[]>;

/** Minimum size: smaller bodies are parsed in a few dozen microseconds. */
const MIN_BYTES = 16_384;
/** Maximum size: larger bodies do not fit into the budget, so scanning them would be useless. */
const MAX_BYTES = 4_194_304;
/** Number of first messages by which a conversation is looked up: the first one or two are often the same in all. */
const KEY_MESSAGES = 3;
/** Number of bytes hashed, at the end of the key messages. */
const KEY_BYTES = 4096;
/** Maximum number of beginnings per key. */
const MAX_BUCKET = 2;
/** Bytes of a parsed value in addition to its text: an empty object takes 56. */
const VALUE_BYTES = 64;

/**
 * Two generations replace an LRU list, as in `TextMemory`. A tenant finds only its own bodies: otherwise response times
 * would reveal another tenant's messages.
 */
export class BodyMemory {
  readonly #budget: MemoryBudget;
  #young: Beginnings = new Map();
  #old: Beginnings = new Map();
  #mark: string | undefined;

  constructor(budget: MemoryBudget) {
    this.#budget = budget;
    budget.join(this);
  }

  /**
   * Parses a body of up to {@link MAX_BYTES}. Do not change the value: its messages are passed out again. Throws a
   * {@link RequestError} unless it is a JSON object.
   * @param names the members that are lists of messages
   */
  read(body: ArrayBuffer, names: readonly string[], tenant: string): ReadBody {
    const bytes = new Uint8Array(body);
    const list = bytes.length >= MIN_BYTES ? findMessageList(bytes, names) : undefined;
    const read = list && this.#readList(bytes, list, tenant);
    if (read !== undefined) return read;
    const text = decode(bytes);
    runAtOnce(refuseManyValues(text));
    return toReadBody(text, parseBody(text));
  }

  /** Drops the older generation. Called by the budget. */
  age(): void {
    this.#old = this.#young;
    this.#young = new Map();
  }

  /** Undefined if the body has few messages, or must be read as a whole. */
  #readList(bytes: Uint8Array, list: MessageList, tenant: string): ReadBody | undefined {
    const head: MessageEnds = { ends: [], values: [] };
    findMessageEnds(bytes, list.start, head, KEY_MESSAGES);
    const keyEnd = head.ends[KEY_MESSAGES - 1];
    if (keyEnd === undefined) return undefined;
    const hash = hashOf(bytes, Math.max(0, keyEnd - KEY_BYTES), keyEnd);
    const key = `${list.name} ${list.start} ${keyEnd} ${hash} ${tenant}`;
    const { known, count } = this.#find(key, bytes);

    const outline = this.#toOutline(bytes, list, known?.ends[count - 1]);
    const parsed = this.#parse(outline, list, known?.messages.slice(0, count) ?? []);
    if (parsed === undefined) return undefined;
    const found = known
      ? { ends: known.ends.slice(0, count), values: known.values.slice(0, count) }
      : head;
    findMessageEnds(bytes, found.ends.at(-1) ?? list.start, found);
    const isContained = count === known?.ends.length;
    if (found.ends.length > count || isContained) {
      const messages = parsed.messages.slice(0, found.ends.length);
      // The cost of the bytes, and of their texts with up to two bytes a character.
      const cost = 3 * bytes.length + VALUE_BYTES * (found.values.at(-1) ?? 0);
      this.#keep(key, { ...found, bytes, messages, cost }, isContained ? known : undefined);
    }
    return { length: bytes.length, value: parsed.value, outline, text: () => decode(bytes) };
  }

  /** Finds the body with this key that has the most first messages in common with `bytes`. */
  #find(key: string, bytes: Uint8Array): { known: Beginning | undefined; count: number } {
    let known: Beginning | undefined;
    let count = 0;
    for (const each of [...(this.#young.get(key) ?? []), ...(this.#old.get(key) ?? [])]) {
      const equal = equalLength(each.bytes, bytes);
      const messages = each.ends.findLastIndex((end) => end <= equal) + 1;
      if (messages <= count) continue;
      known = each;
      count = messages;
    }
    return { known, count };
  }

  /** The body with a mark in place of the messages up to `knownEnd`, or before the first message. */
  #toOutline(bytes: Uint8Array, { start }: MessageList, knownEnd: number | undefined): string {
    this.#mark ??= JSON.stringify(crypto.randomUUID());
    const before = decode(bytes.subarray(0, start)) + this.#mark;
    return knownEnd === undefined
      ? `${before},${decode(bytes.subarray(start), MIDDLE)}`
      : before + decode(bytes.subarray(knownEnd), MIDDLE);
  }

  /**
   * Puts the known messages where the mark is. Undefined if the text is not JSON, or if the mark is missing, because a
   * member with the same name follows.
   */
  #parse(
    outline: string,
    { name }: MessageList,
    known: readonly unknown[],
  ): { readonly value: object; readonly messages: readonly unknown[] } | undefined {
    runAtOnce(refuseManyValues(outline));
    const value = parseJson(outline);
    if (!hasMembers(value)) return undefined;
    const list: unknown = Reflect.get(value, name);
    if (!Array.isArray(list) || JSON.stringify(list[0]) !== this.#mark) return undefined;
    const messages: readonly unknown[] = [...known, ...list.slice(1)];
    Reflect.set(value, name, messages);
    return { value, messages };
  }

  /** Stores a beginning. It replaces the beginning that it contains, if any. */
  #keep(key: string, beginning: Beginning, contained: Beginning | undefined): void {
    if (contained !== undefined) {
      if (remove(this.#young.get(key), contained)) this.#budget.release(contained.cost);
      else remove(this.#old.get(key), contained);
    }
    if (!this.#budget.reserve(beginning.cost)) return;
    const bucket = this.#young.get(key);
    if (bucket === undefined) {
      this.#young.set(key, [beginning]);
      return;
    }
    bucket.push(beginning);
    const forgotten = bucket.length > MAX_BUCKET ? bucket.shift() : undefined;
    if (forgotten) this.#budget.release(forgotten.cost);
  }
}

/** The budget is a quarter of the text caches'. */
const BODY_MEMORY = new BodyMemory(BODY_BUDGET);

/** Reads a request's body. Rejects with a {@link RequestError} unless it is a JSON object. */
export async function readBody(
  c: Context<ApiEnv>,
  lists: readonly string[],
  pause: Pause,
): Promise<ReadBody> {
  // A recorder has read the text: Hono would encode it again.
  if (c.req.bodyCache.text !== undefined) return readText(await c.req.text(), pause);
  const body = await c.req.arrayBuffer();
  if (body.byteLength > MAX_BYTES) return readText(decode(new Uint8Array(body)), pause);
  return BODY_MEMORY.read(body, lists, c.get("client").tenant);
}

async function readText(text: string, pause: Pause): Promise<ReadBody> {
  return toReadBody(text, await parseInStages(text, createStages(text.length, pause)));
}

/** A body that is available as text only. */
export function toReadBody(text: string, value: object): ReadBody {
  return { length: text.length, value, outline: text, text: () => text };
}

function remove<T>(list: T[] | undefined, entry: T): boolean {
  const at = list?.indexOf(entry) ?? -1;
  if (at >= 0) list?.splice(at, 1);
  return at >= 0;
}

/** A byte order mark is removed at the beginning only. */
const MIDDLE = { ignoreBOM: true };

/** Decodes like `Request.text()`. */
function decode(bytes: Uint8Array, options: { readonly ignoreBOM?: boolean } = {}): string {
  return new TextDecoder("utf-8", options).decode(bytes);
}

/** The number of equal first bytes. Comparing four at once takes a quarter of the time. */
function equalLength(a: Uint8Array, b: Uint8Array): number {
  const length = Math.min(a.length, b.length);
  const words = Math.floor(length / 4);
  const ofA = new Int32Array(a.buffer, a.byteOffset, words);
  const ofB = new Int32Array(b.buffer, b.byteOffset, words);
  let word = 0;
  while (word < words && ofA[word] === ofB[word]) word++;
  let at = 4 * word;
  while (at < length && a[at] === b[at]) at++;
  return at;
}

function hashOf(bytes: Uint8Array, start: number, end: number): number {
  let hash = 0;
  for (let at = start; at < end; at++) hash = (Math.imul(hash, 31) + bytes[at]!) | 0;
  return hash;
}
