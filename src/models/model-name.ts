/** Names of models as clients write them: an id or alias, with or without `openai/`, and suffixes: `gpt-oss-20b:high`. */

/** Efforts that a name can ask for. */
const EFFORTS = ["none", "low", "medium", "high"] as const;
export type NamedEffort = (typeof EFFORTS)[number];

/** The events of the Open Responses schema, on the Responses API. */
const OPEN_RESPONSES = "open-responses";

/** The rest are OpenRouter's variants, which select providers there. */
const OTHERS: ReadonlySet<string> = new Set([
  OPEN_RESPONSES,
  "free",
  "nitro",
  "floor",
  "exacto",
  "online",
  "extended",
  "thinking",
  "beta",
]);

export interface NameSuffixes {
  readonly effort: NamedEffort | undefined;
  readonly isOpenResponses: boolean;
}

/** Every spelling of a name that finds it without a suffix. */
export function spellings(name: string): readonly string[] {
  return [name, name.replace(/^openai\//, ""), `openai/${name}`];
}

/** Ids may contain colons, so the longest known name wins. A suffix may stand once, and one effort at most. */
export function findByName<T>(
  known: ReadonlyMap<string, T>,
  name: string,
): (NameSuffixes & { readonly found: T }) | undefined {
  const others = new Set<string>();
  let effort: NamedEffort | undefined;
  for (let rest = name; ; rest = rest.slice(0, rest.lastIndexOf(":"))) {
    const found = known.get(rest);
    if (found !== undefined) return { found, effort, isOpenResponses: others.has(OPEN_RESPONSES) };
    if (!rest.includes(":")) return undefined;
    const suffix = rest.slice(rest.lastIndexOf(":") + 1);
    const named = EFFORTS.find((each) => each === suffix);
    if (named !== undefined && effort === undefined) effort = named;
    else if (OTHERS.has(suffix) && !others.has(suffix)) others.add(suffix);
    else return undefined;
  }
}
