/**
 * What the user's words suggest for an argument. A handful of rules, in the order they are tried, so
 * that `in Oslo` becomes a location and `2 and 3` two numbers; each quotation, name and number is
 * used once, in the order it was written.
 */

export interface Clues {
  /** A text for a string of this name. */
  text(name: string): string | undefined;
  number(name: string): number | undefined;
  /** The first of these words that was mentioned. */
  member(words: readonly string[]): string | undefined;
  /** What was said in so many words to be the value: `unit: kelvin`, `unit = "kelvin"`. */
  named(name: string): string | undefined;
}

/** Every rule looks through the texts in order and takes the first hit. */
export function createClues(texts: readonly string[], results: readonly string[]): Clues {
  const known = new Map(results.flatMap(readResult));
  const used = new Set<string>();
  const first = (find: (text: string) => string | undefined) => {
    for (const text of texts) {
      const found = find(text);
      if (found !== undefined) return found;
    }
    return undefined;
  };
  const unused = (pattern: RegExp) =>
    first((text) => {
      const matches = Array.from(text.matchAll(pattern), (match) => match.slice(1).join(""));
      return matches.find((match) => match !== "" && !used.has(match));
    });
  const use = (value: string | undefined) => {
    if (value !== undefined) used.add(value);
    return value;
  };
  const named = (name: string) => known.get(name) ?? first((text) => readNamed(text, name));
  return {
    named,
    text: (name) =>
      named(name) ??
      use(unused(QUOTED)) ??
      (WHOLE_TEXT.has(name) ? texts[0] : undefined) ??
      use(
        /(?:\b|_)id$|Id$/.test(name)
          ? unused(WITH_DIGIT)
          : (unused(PROPER_NAME) ?? unused(AFTER_PREPOSITION)),
      ),
    number(name) {
      const value = named(name) ?? use(unused(NUMBER));
      return value === undefined || Number.isNaN(Number(value)) ? undefined : Number(value);
    },
    member: (words) => first((text) => words.find((word) => wordPattern(word).test(text))),
  };
}

const QUOTED = /"([^"\n]+)"|“([^”\n]+)”|`([^`\n]+)`|(?<!\p{L})'([^'\n]+)'(?!\p{L})/gu;
/** Capitalised inside a sentence. One capital letter alone would be `I`, or a variable. */
const PROPER_NAME = /(?<=[\p{L}\p{N}_,;:] )(\p{Lu}[\p{L}\p{M}'’-]+(?: \p{Lu}[\p{L}\p{M}'’-]+)*)/gu;
const AFTER_PREPOSITION =
  /\b(?:about|at|for|from|in|near) (?!(?:a|an|all|it|me|my|that|the|this|us|your)\b)([\p{L}\p{N}][\p{L}\p{M}\p{N}'’_-]*)/giu;
/** What an identifier looks like: `A-17`, `u_7`. */
const WITH_DIGIT = /(?<![\p{L}\p{N}_-])((?=[\p{L}_-]*\p{N})[\p{L}\p{N}_-]+)/gu;
/** The number of a step is not meant for a tool. */
const NUMBER = /(?<!\b(?:step|steps) )(?<![\p{L}\p{N}_.])(-?\d+(?:\.\d+)?)(?![\p{L}\p{N}_])/giu;

/** Arguments that take what the user said as it is. */
const WHOLE_TEXT: ReadonlySet<string> = new Set(
  "answer body command content input message note prompt q query question request summary text".split(
    " ",
  ),
);

/** A word as a whole, whatever letters it is made of. */
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

/** Strings and numbers in a JSON result, by their key: a later tool may ask for them. */
function readResult(result: string): [string, string][] {
  const found: [string, string][] = [];
  try {
    JSON.parse(result, (key, value: unknown) => {
      if (typeof value === "string" || typeof value === "number") found.push([key, String(value)]);
      return value;
    });
  } catch {
    // An ordinary text has no keys.
  }
  return found;
}
