/**
 * Names of models in requests: an id or alias, with or without `openai/`, and suffixes: `gpt-oss-20b:high`, `gpt-oss-20b-high`.
 */

/** Efforts that a suffix can select. */
const EFFORTS = ["none", "low", "medium", "high"] as const;
export type NamedEffort = (typeof EFFORTS)[number];

/** Other suffixes. The first selects the events of the Open Responses schema, the rest are OpenRouter's variants. */
const OTHERS: ReadonlySet<string> = new Set([
  "open-responses",
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
  /** Suffixes such as `open-responses`, `free` or `online`. */
  readonly suffixes: ReadonlySet<string>;
}

/**
 * Finds a model. Ids may contain colons and dashes, so the longest known name matches. Each suffix may occur once, and at most
 * one effort.
 */
export function findByName<T>(
  known: ReadonlyMap<string, T>,
  name: string,
): (NameSuffixes & { readonly found: T }) | undefined {
  const suffixes = new Set<string>();
  let effort: NamedEffort | undefined;
  for (let rest = name; ;) {
    const found = known.get(rest);
    if (found !== undefined) return { found, effort, suffixes };
    const dashed = EFFORTS.find((each) => rest.endsWith(`-${each}`));
    const at = dashed === undefined ? rest.lastIndexOf(":") : rest.length - dashed.length - 1;
    if (at < 0) return undefined;
    const suffix = rest.slice(at + 1);
    const named = EFFORTS.find((each) => each === suffix);
    if (named !== undefined && effort === undefined) effort = named;
    else if (OTHERS.has(suffix) && !suffixes.has(suffix)) suffixes.add(suffix);
    else return undefined;
    rest = rest.slice(0, at);
  }
}
