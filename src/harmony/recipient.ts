/**
 * Reads which function a header is addressed to (rule H4).
 *
 * Models join the name to what follows, repeat the namespace or omit `to=`. Malformed text is matched against the
 * offered names; any other name is returned as written.
 */

/**
 * The names of the tools a request offers, in every spelling that models use. A tool of a namespace is offered as
 * `namespace.name`; it is also found as `namespace__name` and, behind `to=`, by its name alone. A spelling that fits two
 * tools is none, and an offered name counts before any spelling of another one.
 */
export interface OfferedNames {
  /** Spellings, longest first, so that a longer name is found before its prefix. */
  readonly longestFirst: readonly string[];
  /** The same with the names that stand without their namespace: only for what stands behind `to=`. */
  readonly recipients: readonly string[];
  /** The tools offered in the system message. */
  readonly builtins: readonly BuiltinName[];
  has(spelling: string): boolean;
  /** The offered name that is spelled so. A name that is not offered is returned as it is. */
  resolve(spelling: string): string;
}

/** A tool offered in the system message, such as `browser` or `python`. */
export interface BuiltinName {
  readonly name: string;
  /** `search` of `browser.search`. Empty: the tool is called by its own name. */
  readonly functions: readonly string[];
  /** Bodies are code, not JSON arguments. */
  readonly rawBody: boolean;
}

export function createOfferedNames(
  names: readonly string[],
  builtins: readonly BuiltinName[] = [],
): OfferedNames {
  if (names.length === 0) return builtins.length === 0 ? NO_NAMES : { ...NO_NAMES, builtins };
  const known = new Set(names.filter((name) => name !== ""));
  const spaced = [...known].filter((name) => name.includes("."));
  if (spaced.length === 0) return offerPlainNames(known, builtins);
  const joined = uniqueSpellings(spaced, (name) => name.replaceAll(".", "__"), known);
  const full = new Set([...known, ...joined.keys()]);
  const short = uniqueSpellings(spaced, (name) => name.slice(name.indexOf(".") + 1), full);
  const recipients = [...short.keys()].filter((name) => name !== "" && !isHeaderWord(name));
  return {
    longestFirst: longestFirst([...full]),
    recipients: longestFirst([...full, ...recipients]),
    builtins,
    has: (spelling) => full.has(spelling),
    resolve: (spelling) =>
      known.has(spelling) ? spelling : (joined.get(spelling) ?? short.get(spelling) ?? spelling),
  };
}

/** Names that have one spelling each, as most have. */
function offerPlainNames(
  names: ReadonlySet<string>,
  builtins: readonly BuiltinName[],
): OfferedNames {
  const sorted = longestFirst([...names]);
  const has = (spelling: string): boolean => names.has(spelling);
  return { longestFirst: sorted, recipients: sorted, builtins, has, resolve: asWritten };
}

const asWritten = (spelling: string): string => spelling;

const NO_NAMES: OfferedNames = {
  longestFirst: [],
  recipients: [],
  builtins: [],
  has: () => false,
  resolve: asWritten,
};

/** The names by another spelling of them, without those that are taken or that two names share. */
function uniqueSpellings(
  names: readonly string[],
  spell: (name: string) => string,
  taken: ReadonlySet<string>,
): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const ambiguous = new Set(taken);
  for (const name of names) {
    const spelling = spell(name);
    if (found.has(spelling)) ambiguous.add(spelling);
    found.set(spelling, name);
  }
  for (const spelling of ambiguous) found.delete(spelling);
  return found;
}

function longestFirst(names: readonly string[]): readonly string[] {
  return names.toSorted((a, b) => b.length - a.length);
}

export interface FunctionRecipient {
  readonly type: "function";
  /** Without `functions.`. */
  readonly name: string;
  /** A tool that the model was trained with, called without `functions.`. */
  readonly isBuiltIn: boolean;
  /** The name was recovered from malformed text. */
  readonly isOdd: boolean;
}

/** A tool offered in the system message. */
export interface BuiltinRecipient {
  readonly type: "builtin";
  readonly tool: BuiltinName;
  /** Canonical: `python`, `browser.search`, also `browser.run`, which does not exist. */
  readonly name: string;
  /** Written with `functions.`, although no function has that name. */
  readonly hasNamespace: boolean;
  readonly isOdd: boolean;
}

export type Recipient =
  | FunctionRecipient
  | BuiltinRecipient
  /** `assistant`, `all`, a role or a channel: addressed to no function. */
  | { readonly type: "no-function" }
  /** No name was found. */
  | { readonly type: "lost" };

const NAMESPACE = "functions.";
const NOT_FUNCTIONS =
  /^(?:assistant|all|user|system|developer|analysis|commentary|final)(?:json|code|analysis|commentary|final)*$/i;
/** Words that models append to a name: content types, and channels whose marker is missing. */
const GLUED = /^(?:json|code|analysis|commentary|final)+/i;
/** Words that introduce a name: `tool: f`, `functions f`. */
const LABEL = /^(?:tools?:|functions?[:.]?|:)?$/i;

/** Reads the text after `to=`, up to the next marker. */
export function readRecipient(value: string, offered: OfferedNames): Recipient {
  let text = value.trimStart();
  let namespaces = 0;
  while (text.startsWith(NAMESPACE)) {
    text = text.slice(NAMESPACE.length).trimStart();
    namespaces++;
  }

  const exact = offered.recipients.find(
    (name) => text.startsWith(name) && !continuesName(text.slice(name.length)),
  );
  // A client's function called `python` is `functions.python`; without the namespace it is the built-in tool.
  const builtin =
    exact === undefined || namespaces === 0 ? readBuiltin(text, offered, namespaces) : undefined;
  if (builtin !== undefined && (exact === undefined || builtin.name.length >= exact.length)) {
    return builtin;
  }
  if (exact !== undefined) {
    const isOdd = namespaces > 1 || !offered.has(exact);
    return toFunction(offered.resolve(exact), isOdd, namespaces > 0);
  }

  const glued = offered.recipients.find((name) => {
    if (!text.startsWith(name)) return false;
    const after = text.slice(name.length);
    const extra = GLUED.exec(after)?.[0] ?? "";
    return extra !== "" && !continuesName(after.slice(extra.length));
  });
  if (glued !== undefined) return toFunction(offered.resolve(glued), true, namespaces > 0);

  const word = /^[^\s{[<("']*/.exec(text)?.[0] ?? "";
  if (LABEL.test(word)) {
    const name = findName(text.slice(word.length), offered);
    return name === undefined ? { type: "lost" } : toFunction(name, true, true);
  }
  const name = word.replace(/[:;,.?!]+$/, "");
  if (name === "") return { type: "lost" };
  if (namespaces === 0 && NOT_FUNCTIONS.test(name)) return { type: "no-function" };
  return toFunction(name, namespaces > 1 || name !== word, namespaces > 0);
}

/** Whether a name is that of a tool the model was trained with: `python`, `browser.search`. */
export function isBuiltInTool(name: string): boolean {
  return /^(?:python|browser|container)(?:\.|$)/.test(name);
}

/**
 * Finds a function named without `to=`: an offered name, longest first, or `functions.x`. A text of many words is not
 * searched.
 */
export function findName(text: string, offered: OfferedNames): string | undefined {
  for (const name of offered.longestFirst) {
    if (isHeaderWord(name)) continue;
    for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + 1)) {
      const before = text.slice(0, at);
      const after = text.slice(at + name.length);
      const standsAlone = before === "" || /\s$/.test(before) || before.endsWith(NAMESPACE);
      if (standsAlone && !continuesName(after)) {
        const isNamed = countWords(before) + countWords(after) <= MAX_OTHER_WORDS;
        return isNamed ? offered.resolve(name) : undefined;
      }
    }
  }
  const named = /(?:^|\s)(functions\.[^\s{[<("']+)/.exec(text)?.[1];
  if (named === undefined || countWords(text) > MAX_OTHER_WORDS + 1) return undefined;
  const recipient = readRecipient(named, offered);
  return recipient.type === "function" ? recipient.name : undefined;
}

/** Whether the first word is an offered name and not a header word. */
export function beginsWithName(text: string, offered: OfferedNames): boolean {
  const word = text.trimStart();
  return offered.longestFirst.some(
    (name) =>
      word.startsWith(name) && !isHeaderWord(name) && !continuesName(word.slice(name.length)),
  );
}

/** Other words that may accompany a name: a content type, a label, noise. */
const MAX_OTHER_WORDS = 2;

function countWords(text: string): number {
  return text.split(/\s+/).filter((word) => word !== "").length;
}

function readBuiltin(
  text: string,
  { builtins }: OfferedNames,
  namespaces: number,
): BuiltinRecipient | undefined {
  for (const tool of builtins) {
    if (!text.startsWith(tool.name)) continue;
    const found = readBuiltinName(text, tool);
    if (found === undefined) continue;
    const isOdd = found.isOdd || namespaces > 1;
    return { type: "builtin", tool, ...found, isOdd, hasNamespace: namespaces > 0 };
  }
  return undefined;
}

function readBuiltinName(
  text: string,
  { name, functions }: BuiltinName,
): Pick<BuiltinRecipient, "name" | "isOdd"> | undefined {
  for (const each of functions) {
    const whole = `${name}.${each}`;
    if (text.startsWith(whole) && endsName(text.slice(whole.length))) {
      return { name: whole, isOdd: continuesName(text.slice(whole.length)) };
    }
  }
  const behind = text.slice(name.length);
  const dotted = /^\.[\w.-]*/.exec(behind)?.[0];
  if (dotted === undefined) {
    return endsName(behind) ? { name, isOdd: continuesName(behind) } : undefined;
  }
  // `python.exec`: there is only the tool. `browser.run`: the model is told that there is no such function.
  return functions.length === 0
    ? { name, isOdd: true }
    : { name: `${name}${dotted.replace(/\.+$/, "")}`, isOdd: true };
}

/** Nothing that belongs to the name follows, except words that models append. */
function endsName(behind: string): boolean {
  const glued = GLUED.exec(behind)?.[0] ?? "";
  return !continuesName(behind.slice(glued.length));
}

function toFunction(name: string, isOdd: boolean, hasNamespace: boolean): Recipient {
  return { type: "function", name, isOdd, isBuiltIn: !hasNamespace && isBuiltInTool(name) };
}

function continuesName(after: string): boolean {
  return /^(?:[\p{L}\p{N}_\-/@$]|\.[\p{L}\p{N}_])/u.test(after);
}

/** A function may be called `json` or `thinking`, but without `to=` these are header words. */
function isHeaderWord(name: string): boolean {
  return NOT_FUNCTIONS.test(name) || /^(?:json|code|thinking|thoughts?|reasoning)$/.test(name);
}
