/**
 * The names of the tools that a request offers, in every spelling that models use.
 *
 * A tool of a namespace is offered as `namespace.name`; it is also found as `namespace__name` and, after `to=`, by its
 * name alone. A spelling that fits two tools is ignored, and an offered name takes precedence over spellings of others.
 */
import { isHeaderWord } from "./header-word.ts";

/** A tool offered in the system message, such as `browser` or `python`. */
export interface SystemTool {
  readonly name: string;
  /** `search` of `browser.search`. Empty: the tool is called by its own name. */
  readonly functions: readonly string[];
  /** Whether bodies are code instead of JSON arguments. */
  readonly rawBody: boolean;
}

export interface OfferedNames {
  /** Whether a message with a recipient is a call. If not, the body of a function's call is content (rule R3). */
  readonly readsCalls: boolean;
  /** Spellings of functions, longest first, so that a longer name is found before its prefix. */
  readonly longestFirst: readonly string[];
  /** Like `longestFirst`, with names without their namespace: only for text after `to=`. */
  readonly recipients: readonly string[];
  /** The tools offered in the system message, and the spellings of their functions as above. */
  readonly systemTools: readonly SystemTool[];
  readonly systemNames: readonly string[];
  readonly systemRecipients: readonly string[];
  /** The tool of the system message with a function of this spelling. */
  systemToolOf(spelling: string): SystemTool | undefined;
  /** Whether the text is a spelling of a function. */
  has(spelling: string): boolean;
  /** Whether the text is a spelling of any tool. */
  hasTool(spelling: string): boolean;
  /** The offered name with this spelling. A name that is not offered is returned unchanged. */
  resolve(spelling: string): string;
}

/** @param shown the names of functions by their other names */
export function createOfferedNames(
  names: readonly string[],
  systemTools: readonly SystemTool[] = [],
  shown: ReadonlyMap<string, string> = new Map(),
): OfferedNames {
  const known = new Set([...names.filter((name) => name !== ""), ...shown.keys()]);
  const system = namesOf(systemTools, known);
  const own = new Set([...known, ...system.keys()]);
  const spaced = [...own].filter((name) => name.includes("."));
  const canonical = (name: string): string => shown.get(name) ?? name;
  const joined = uniqueSpellings(spaced, (name) => name.replaceAll(".", "__"), own, canonical);
  const taken = new Set([...own, ...joined.keys()]);
  const short = uniqueSpellings(
    spaced,
    (name) => name.slice(name.indexOf(".") + 1),
    taken,
    canonical,
  );
  const spell = (isWanted: (name: string) => boolean, offered: Iterable<string>) => {
    const full = [...offered, ...spellingsOf(joined, isWanted)];
    const bare = spellingsOf(short, isWanted).filter((name) => name !== "" && !isHeaderWord(name));
    return [longestFirst(full), longestFirst([...full, ...bare])] as const;
  };
  const [functions, recipients] = spell((name) => known.has(name), known);
  const [systemNames, systemRecipients] = spell((name) => !known.has(name), system.keys());
  const full = new Set(functions);
  const resolve = (spelling: string): string =>
    own.has(spelling)
      ? canonical(spelling)
      : (joined.get(spelling) ?? short.get(spelling) ?? spelling);
  return {
    readsCalls: names.length > 0 || systemTools.length > 0,
    longestFirst: functions,
    recipients,
    systemTools,
    systemNames,
    systemRecipients,
    has: (spelling) => full.has(spelling),
    hasTool: (spelling) => taken.has(spelling),
    resolve,
    systemToolOf: (spelling) => system.get(resolve(spelling)),
  };
}

/** Tools of the system message by the names of their functions, without names in `taken`. */
function namesOf(
  systemTools: readonly SystemTool[],
  taken: ReadonlySet<string>,
): ReadonlyMap<string, SystemTool> {
  const tools = new Map<string, SystemTool>();
  for (const tool of systemTools) {
    const { name, functions } = tool;
    for (const each of functions.length === 0 ? [name] : functions.map((own) => `${name}.${own}`)) {
      if (!taken.has(each)) tools.set(each, tool);
    }
  }
  return tools;
}

function spellingsOf(
  spellings: ReadonlyMap<string, string>,
  isWanted: (name: string) => boolean,
): string[] {
  return [...spellings].flatMap(([spelling, name]) => (isWanted(name) ? [spelling] : []));
}

/** Names by another spelling, without spellings that are taken or fit two names. */
function uniqueSpellings(
  names: readonly string[],
  spell: (name: string) => string,
  taken: ReadonlySet<string>,
  canonical: (name: string) => string,
): Map<string, string> {
  const found = new Map<string, string>();
  const ambiguous = new Set(taken);
  for (const each of names) {
    const spelling = spell(each);
    const name = canonical(each);
    if ((found.get(spelling) ?? name) !== name) ambiguous.add(spelling);
    found.set(spelling, name);
  }
  for (const spelling of ambiguous) found.delete(spelling);
  return found;
}

function longestFirst(names: readonly string[]): readonly string[] {
  return names.toSorted((a, b) => b.length - a.length);
}
