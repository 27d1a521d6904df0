/**
 * Finds values for arguments in the user's words. A few rules are tried in order, so that `in Oslo` becomes a location and `2 and
 * 3` two numbers. Each quotation, name and number is used once, in the order of the text.
 */

export interface Hints {
  /** Text for a string argument with this name. */
  text(name: string): string | undefined;
  number(name: string): number | undefined;
  /** The first of these words that the user mentioned. */
  member(words: readonly string[]): string | undefined;
  /** The value assigned explicitly: `unit: kelvin`, `unit = "kelvin"`. */
  named(name: string): string | undefined;
}

/** The texts to search. */
export interface Wording {
  /** Texts about the call or the answer, the most specific one first. */
  readonly about: readonly string[];
  /** The whole text: the fallback for a required string or number. */
  readonly whole: string;
}

/** `results`: results of tools so far. */
export function createHints({ about, whole }: Wording, results: readonly string[]): Hints {
  const known = new Map(results.flatMap(readResult));
  const used = new Set<string>();
  const named = (name: string) => known.get(name) ?? first(about, (text) => readNamed(text, name));
  return {
    named,
    member: (words) => first(about, (text) => words.find((word) => wordPattern(word).test(text))),
    text(name) {
      const said = named(name) ?? takeFirst(QUOTED);
      if (said !== undefined) return said;
      if (WHOLE_TEXT.has(name)) return about[0];
      return IDENTIFIER.test(name)
        ? takeFirst(WITH_DIGIT)
        : (takeFirst(PROPER_NAME) ?? takeFirst(AFTER_PREPOSITION));
    },
    number(name) {
      const value = named(name) ?? takeFirst(NUMBER);
      return value === undefined || Number.isNaN(Number(value)) ? undefined : Number(value);
    },
  };

  function takeFirst(pattern: RegExp): string | undefined {
    const found = first([...about, whole], (text) => {
      const matches = Array.from(text.matchAll(pattern), (match) => match.slice(1).join(""));
      return matches.find((match) => !used.has(match));
    });
    if (found !== undefined) used.add(found);
    return found;
  }
}

function first(
  texts: readonly string[],
  find: (text: string) => string | undefined,
): string | undefined {
  for (const text of texts) {
    const found = find(text);
    if (found !== undefined) return found;
  }
  return undefined;
}

const QUOTED =
  /"([^"\n]+)"|\u201c([^\u201d\n]+)\u201d|`([^`\n]+)`|(?<!\p{L})'([^'\n]+)'(?!\p{L})/gu;
/** Matches capitalised words inside a sentence. A single capital letter would match `I` and variables. */
const PROPER_NAME =
  /(?<=[\p{L}\p{N}_,;:] )(\p{Lu}[\p{L}\p{M}'\u2019-]+(?: \p{Lu}[\p{L}\p{M}'\u2019-]+)*)/gu;
const AFTER_PREPOSITION =
  /\b(?:about|at|for|from|in|near) (?!(?:a|an|all|it|me|my|that|the|this|us|your)\b)([\p{L}\p{N}][\p{L}\p{M}\p{N}'\u2019_-]*)/giu;
const IDENTIFIER = /(?:\b|_)id$|Id$/;
/** Matches identifiers: `A-17`, `u_7`. */
const WITH_DIGIT = /(?<![\p{L}\p{N}_-])((?=[\p{L}_-]*\p{N})[\p{L}\p{N}_-]+)/gu;
/** Matches numbers, except the number of a step. */
const NUMBER = /(?<!\b(?:step|steps) )(?<![\p{L}\p{N}_.])(-?\d+(?:\.\d+)?)(?![\p{L}\p{N}_])/giu;

/** Names of arguments that receive the user's text unchanged. */
const WHOLE_TEXT: ReadonlySet<string> = new Set(
  "answer body command content input message note prompt q query question request summary text".split(
    " ",
  ),
);

/** Matches a whole word, in any script. */
export function wordPattern(word: string): RegExp {
  return new RegExp(`(?<![\\p{L}\\p{N}_])${escapePattern(word)}(?![\\p{L}\\p{N}_])`, "giu");
}

function escapePattern(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}

function readNamed(text: string, name: string): string | undefined {
  if (name === "") return undefined;
  const spelled = escapePattern(name).replaceAll(/[-_]/g, "[-_ ]");
  const pattern = `(?<![\\p{L}\\p{N}_])${spelled} ?(?:[:=]|is) ?(?:"([^"]+)"|“([^”]+)”|([\\p{L}\\p{N}_.+@/:-]*[\\p{L}\\p{N}_]))`;
  const match = new RegExp(pattern, "iu").exec(text);
  return match?.slice(1).find((value) => value !== undefined);
}

/** Strings and numbers in a JSON result, by their key: a later tool may need them. */
function readResult(result: string): [string, string][] {
  const found: [string, string][] = [];
  try {
    JSON.parse(result, (key, value: unknown) => {
      if (typeof value === "string" || typeof value === "number") found.push([key, String(value)]);
      return value;
    });
  } catch {
    // Plain text has no keys.
  }
  return found;
}
