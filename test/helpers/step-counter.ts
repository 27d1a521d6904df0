/**
 * The program of a step counter (`count-steps.ts`): loads a module of work, and counts the steps of each received
 * input.
 *
 * A step is one execution of a block of JavaScript, as V8's coverage counts them, or one character or element that a
 * built-in function has to look at. Coverage counts only functions that are compiled after it was started, so the
 * module is loaded here, in a separate process.
 */
import { Session } from "node:inspector/promises";
import process from "node:process";

/** Characters and elements that built-in functions were given. */
let given = 0;
/** Patterns that ran over long texts: their inner steps cannot be counted. */
const patterns = new Set<string>();
const LONG = 4096;
/** Elements of a list that fill 128 KiB. */
const MOVED = 16_384;

const session = new Session();
session.connect();
await session.post("Profiler.enable");
await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
const { work } = await import(process.argv[2] ?? "");
countGatewayTools();

process.on("message", (input) => void answer(input));
process.send?.({ ready: true });

async function answer(input: unknown): Promise<void> {
  await takeBlocks();
  given = 0;
  patterns.clear();
  await work(input);
  const gatewayTools = given;
  const blocks = await takeBlocks();
  process.send?.({ blocks, gatewayTools, patterns: [...patterns].toSorted() });
}

/** Blocks executed since the last call. */
async function takeBlocks(): Promise<number> {
  const { result } = await session.post("Profiler.takePreciseCoverage");
  return result
    .filter(({ url }) => url.startsWith("file:") && url !== import.meta.url)
    .flatMap(({ functions }) => functions.flatMap(({ ranges }) => ranges))
    .reduce((sum, range) => sum + range.count, 0);
}

type Method = (this: never, ...args: never[]) => unknown;

/** Replaces a method by one that also counts its cost. */
function count(
  owner: object,
  name: string,
  cost: (subject: { length: number }, result: unknown, from: unknown) => number,
): void {
  const original: Method = Reflect.get(owner, name);
  Reflect.set(owner, name, function counted(this: { length: number }, ...args: unknown[]) {
    const result: unknown = Reflect.apply(original, this, args);
    given += cost(this, result, args[1]);
    return result;
  });
}

function countGatewayTools(): void {
  const whole = ({ length }: { length: number }) => length;
  const lengthOf = (value: unknown) =>
    typeof value === "string" || Array.isArray(value) || value instanceof Uint8Array
      ? value.length
      : 1;
  const text = String.prototype;
  // `endsWith` and `at` look at a few characters, but make one flat string of a text that was concatenated.
  for (const name of ["replaceAll", "split", "toLowerCase", "toUpperCase", "trim", "trimEnd"]) {
    count(text, name, whole);
  }
  for (const name of ["trimStart", "endsWith", "at", "normalize", "isWellFormed", "toWellFormed"]) {
    count(text, name, whole);
  }
  for (const name of ["slice", "substring", "repeat", "padStart", "padEnd", "concat"]) {
    count(text, name, (_, result) => lengthOf(result));
  }
  const searched = ({ length }: { length: number }, result: unknown, from: unknown) =>
    Math.max(1, (typeof result === "number" && result >= 0 ? result : length) - Number(from ?? 0));
  count(text, "indexOf", searched);
  count(text, "includes", whole);
  count(text, "lastIndexOf", ({ length }, result, from) =>
    Math.max(1, Math.min(length, Number(from ?? length)) - Math.max(0, Number(result))),
  );
  const list = Array.prototype;
  for (const name of ["indexOf", "lastIndexOf", "includes", "unshift", "splice", "reverse"]) {
    count(list, name, whole);
  }
  // V8 moves the elements of a long list, and the start of a short one.
  count(list, "shift", ({ length }) => (length > MOVED ? length : 1));
  count(list, "slice", (_, result) => lengthOf(result));
  count(list, "concat", (_, result) => lengthOf(result));
  count(list, "join", ({ length }, result) => length + lengthOf(result));
  count(TextDecoder.prototype, "decode", (_, result) => lengthOf(result));
  count(Buffer.prototype, "indexOf", searched);
  count(Buffer.prototype, "toString", (_, result) => lengthOf(result));
  count(Buffer, "concat", (_, result) => lengthOf(result));
  countPatterns();
}

/** Each search of a pattern costs the text that it passed over. All methods that take patterns search by `exec`. */
function countPatterns(): void {
  const search: Method = Reflect.get(RegExp.prototype, "exec");
  Reflect.set(RegExp.prototype, "exec", function counted(this: RegExp, subject: string) {
    const from = this.global || this.sticky ? this.lastIndex : 0;
    const found: unknown = Reflect.apply(search, this, [subject]);
    const end = isMatch(found) ? found.index + found[0].length : subject.length;
    given += end - from + 1;
    if (subject.length > LONG) patterns.add(this.source);
    return found;
  });
}

function isMatch(found: unknown): found is { readonly index: number; readonly 0: string } {
  return found !== null;
}
