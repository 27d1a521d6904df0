/**
 * Reads which function a header is addressed to (rule H4).
 *
 * Models join the name to what follows, repeat the namespace or omit `to=`. Malformed text is matched against the
 * offered names; any other name is returned as written.
 */

/** The names of the functions a request offers. */
export interface OfferedNames {
  /** Longest first, so that a longer name is found before its prefix. */
  readonly longestFirst: readonly string[];
  has(name: string): boolean;
}

export function createOfferedNames(names: readonly string[]): OfferedNames {
  const known = new Set(names.filter((name) => name !== ""));
  return {
    longestFirst: [...known].toSorted((a, b) => b.length - a.length),
    has: (name) => known.has(name),
  };
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

export type Recipient =
  | FunctionRecipient
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

  const exact = offered.longestFirst.find(
    (name) => text.startsWith(name) && !continuesName(text.slice(name.length)),
  );
  if (exact !== undefined) return toFunction(exact, namespaces > 1, namespaces > 0);

  const glued = offered.longestFirst.find((name) => {
    if (!text.startsWith(name)) return false;
    const after = text.slice(name.length);
    const extra = GLUED.exec(after)?.[0] ?? "";
    return extra !== "" && !continuesName(after.slice(extra.length));
  });
  if (glued !== undefined) return toFunction(glued, true, namespaces > 0);

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
        return countWords(before) + countWords(after) <= MAX_OTHER_WORDS ? name : undefined;
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
