/** Limits on the size and shape of a request, checked before it is validated. */
import { hasMoreValues, MAX_DEPTH, MAX_VALUES } from "../../json-text.ts";
import { refusal, RequestError } from "../errors.ts";

export interface RequestLimits {
  /** Maximum number of messages or input items. */
  readonly maxMessages: number;
  readonly maxTools: number;
}

/** The top-level members of a request whose lists are counted. */
export interface CountedLists {
  /** Limited by `maxMessages`. */
  readonly messageLists: readonly string[];
  /** Limited by `maxTools`. */
  readonly toolLists: readonly string[];
}

/**
 * Refuses JSON text with far more values than allowed, before the values are built. {@link checkLimits} refuses any
 * other excess by name.
 * @throws RequestError
 */
export function* refuseManyValues(text: string): Generator<void, void> {
  if (yield* hasMoreValues(text, MAX_VALUES)) {
    throw new RequestError(`The request has more than the ${MAX_VALUES} JSON values allowed.`);
  }
}

/**
 * Stops at the first limit exceeded: deep nesting cannot overflow the stack, and the rest of an oversized list is not
 * visited.
 * @throws RequestError
 */
export function checkLimits(body: object, limits: RequestLimits & CountedLists): void {
  const { messageLists, toolLists } = limits;
  for (const name of messageLists) checkLength(Reflect.get(body, name), name, limits.maxMessages);
  for (const name of toolLists) checkLength(Reflect.get(body, name), name, limits.maxTools);
  let values = 0;
  for (const [name, value] of Object.entries(body)) {
    const isMessages = messageLists.includes(name) && Array.isArray(value);
    const count = countValues(value, {
      maxDepth: MAX_DEPTH - 1,
      maxValues: MAX_VALUES - values,
      maxEntries: isMessages ? maxParts(limits) + value.length : Number.POSITIVE_INFINITY,
    });
    if (typeof count === "number") values += count;
    else throw excessive(name, count, limits);
  }
}

/** Maximum number of content parts, calls and other list entries in all messages or input items together. */
function maxParts({ maxMessages }: RequestLimits): number {
  return 2 * maxMessages;
}

type Excess = "depth" | "values" | "entries";

function excessive(param: string, excess: Excess, limits: RequestLimits): RequestError {
  const problems: Record<Excess, string> = {
    depth: `is nested deeper than ${MAX_DEPTH} levels`,
    values: `takes the request over the ${MAX_VALUES} JSON values allowed`,
    entries: `has more than the ${maxParts(limits)} parts allowed in all of its entries together`,
  };
  return refusal(param, `${problems[excess]}.`);
}

function checkLength(list: unknown, param: string, most: number): void {
  if (!Array.isArray(list) || list.length <= most) return;
  throw refusal(param, `has ${list.length} entries, more than the ${most} allowed.`);
}

interface Bounds {
  readonly maxDepth: number;
  readonly maxValues: number;
  /** Limit for the entries of all lists together. */
  readonly maxEntries: number;
}

/** The number of values, including `value` itself, or the bound they exceed. */
function countValues(value: unknown, { maxDepth, maxValues, maxEntries }: Bounds): number | Excess {
  if (typeof value !== "object" || value === null) return maxValues < 1 ? "values" : 1;
  let values = 0;
  let entries = 0;

  /** The bound that is exceeded. */
  function visit(each: unknown, depth: number): Excess | undefined {
    values++;
    if (typeof each !== "object" || each === null) return undefined;
    if (depth === 0) return "depth";
    const members: unknown[] = Array.isArray(each) ? each : Object.values(each);
    if (Array.isArray(each)) entries += members.length;
    if (entries > maxEntries) return "entries";
    if (values + members.length > maxValues) return "values";
    for (const member of members) {
      const excess = visit(member, depth - 1);
      if (excess !== undefined) return excess;
    }
    return undefined;
  }

  return visit(value, maxDepth) ?? (values > maxValues ? "values" : values);
}
