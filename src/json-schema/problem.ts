/** The problem of a value, and its place, in words that a model can act on. */
import { quote, toToken } from "./schema-error.ts";

export interface Problem {
  readonly keyword: string;
  /** Called only for the problem that is reported, since failed alternatives have problems too. */
  readonly describe: () => string;
  /** The member or item with the problem; undefined for the value itself. */
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

/**
 * Returns the problem of the failed alternative that matched furthest, because it was probably intended.
 */
export function closest(problems: readonly Problem[]): Problem | undefined {
  const [first] = problems;
  if (!first) return undefined;
  const best = problems.reduce((most, each) => (score(each) > score(most) ? each : most), first);
  if (problems.length === 1) return best;
  const { describe } = best;
  return {
    ...best,
    describe: () => `${describe()} (in the closest of ${problems.length} alternatives)`,
  };
}

/** How far an alternative matched: one that fails at a keyword other than a type or constant is a closer match. */
function score({ keyword, depth }: Problem): number {
  return 2 * depth + (keyword === "type" || keyword === "const" || keyword === "enum" ? 0 : 1);
}

const MAX_NAMES = 20;

export function absent(names: readonly string[], why: string): Problem {
  return problem("required", () => `${namesOf("lacks", names)}${why}`);
}

export function unexpected(
  key: string,
  properties: ReadonlyMap<string, unknown> | undefined,
): Problem {
  return problem("additionalProperties", () => {
    const may = properties?.size ? namesOf("; it may have", [...properties.keys()]) : "";
    return `must not have the property ${quote(key)}${may}`;
  });
}

function namesOf(verb: string, names: readonly string[]): string {
  const word = names.length === 1 ? "the property" : "the properties";
  const shown = names.slice(0, MAX_NAMES).map((name) => quote(name));
  return `${verb} ${word} ${shown.join(", ")}${names.length > MAX_NAMES ? ", …" : ""}`;
}
