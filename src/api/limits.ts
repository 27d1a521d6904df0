/** How much a request may ask for, checked before anything is made of it. */
import { RequestError } from "./errors.ts";

export interface RequestLimits {
  /** Most messages, or input items. */
  readonly maxMessages: number;
  readonly maxTools: number;
  /** Deepest nesting of objects and arrays, the body itself being the first. */
  readonly maxDepth: number;
}

/** The lists that are counted, in both APIs. */
const MESSAGE_LISTS = ["messages", "input"];
const TOOL_LISTS = ["tools", "functions"];

/** @throws RequestError */
export function checkLimits(body: object, limits: RequestLimits): void {
  const members = new Map<string, unknown>(Object.entries(body));
  for (const name of MESSAGE_LISTS) checkLength(members.get(name), name, limits.maxMessages);
  for (const name of TOOL_LISTS) checkLength(members.get(name), name, limits.maxTools);
  for (const [name, value] of members) {
    if (isDeeperThan(value, limits.maxDepth - 1)) {
      throw new RequestError(`${name}: is nested deeper than ${limits.maxDepth} levels.`, {
        param: name,
      });
    }
  }
}

function checkLength(list: unknown, param: string, most: number): void {
  if (!Array.isArray(list) || list.length <= most) return;
  throw new RequestError(`${param}: has ${list.length} entries, more than the ${most} allowed.`, {
    param,
  });
}

/** Looks no deeper than it must, so that no nesting overflows the stack. */
function isDeeperThan(value: unknown, depth: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (depth === 0) return true;
  const members: unknown[] = Array.isArray(value) ? value : Object.values(value);
  return members.some((each) => isDeeperThan(each, depth - 1));
}
