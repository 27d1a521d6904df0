/** What is wrong with a value, and where, in words a model can act on. */
import { quote, toToken } from "./schema-error.ts";

export interface Problem {
  readonly keyword: string;
  /** Called only for the problem that is reported, since failed alternatives have problems too. */
  readonly describe: () => string;
  /** The member or item it is in; undefined for the value itself. */
  readonly key?: string | number;
  readonly inner?: Problem;
  /** Depth in members and items. */
  readonly depth: number;
}

export function problem(keyword: string, describe: () => string): Problem {
  return { keyword, describe, depth: 0 };
}

/** Moves a problem of a member or an item to the value that contains it. */
export function within(key: string | number, inner: Problem): Problem {
  const { keyword, describe, depth } = inner;
  return { keyword, describe, key, inner, depth: depth + 1 };
}

/** `#/days/0: must be …`, shortened to a useful length. */
export function printProblem(found: Problem): string {
  let path = "#";
  for (let at: Problem | undefined = found; at?.key !== undefined; at = at.inner) {
    const token = toToken(at.key);
    path += `/${token.length > 100 ? quote(token) : token}`;
    if (path.length > MAX_PATH) {
      path += "/…";
      break;
    }
  }
  return `${path}: ${found.describe().slice(0, MAX_MESSAGE)}`;
}

const MAX_PATH = 500;
const MAX_MESSAGE = 3000;
