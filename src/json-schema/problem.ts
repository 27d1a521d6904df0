/** What is wrong with a value, in words a model can act on, and where in the value. */
import { quote, toToken } from "./schema-error.ts";

export interface Problem {
  readonly keyword: string;
  /** Made only for the problem that is reported: alternatives that do not match have problems too. */
  readonly describe: () => string;
  /** The member or item it is in; undefined for the value itself. */
  readonly key?: string | number;
  readonly inner?: Problem;
  /** How many members and items down. */
  readonly depth: number;
}

export function problem(keyword: string, describe: () => string): Problem {
  return { keyword, describe, depth: 0 };
}

/** The problem of a member or an item, as one of what it is in. */
export function within(key: string | number, inner: Problem): Problem {
  const { keyword, describe, depth } = inner;
  return { keyword, describe, key, inner, depth: depth + 1 };
}

/** `#/days/0: must be …`, never longer than is useful. */
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
