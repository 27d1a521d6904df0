/**
 * Reads the function to which a header is addressed (rule H4).
 *
 * Models join the name to what follows, repeat the namespace or omit `to=`. Malformed text is matched against the
 * offered names; any other name is returned as written.
 */

import { isHeaderWord, NOT_FUNCTIONS } from "./header-word.ts";
import type { SystemTool, OfferedNames } from "./offered-names.ts";

export interface FunctionRecipient {
  readonly type: "function";
  /** The name without `functions.`. */
  readonly name: string;
  /** Whether it is a trained tool, called without `functions.`. */
  readonly isTrained: boolean;
  /** Whether the name was recovered from malformed text. */
  readonly isOdd: boolean;
}

/** A tool offered in the system message. */
export interface SystemToolRecipient {
  readonly type: "system-tool";
  readonly tool: SystemTool;
  /** The canonical name: `python`, `browser.search`, also `browser.run`, which does not exist. */
  readonly name: string;
  /** Whether the name was written with `functions.`, although no function has it. */
  readonly hasNamespace: boolean;
  readonly isOdd: boolean;
}

export type Recipient =
  | FunctionRecipient
  | SystemToolRecipient
  /** `assistant`, `all`, a role or a channel: addressed to no function. */
  | { readonly type: "no-function" }
  /** No name was found. */
  | { readonly type: "lost" };

const NAMESPACE = "functions.";
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

  const offeredName = offered.recipients.find(
    (name) => text.startsWith(name) && !continuesName(text.slice(name.length)),
  );
  // A client's function called `python` is `functions.python`; without the namespace it is the tool of the system message.
  const systemTool =
    offeredName === undefined || namespaces === 0
      ? readSystemTool(text, offered, namespaces)
      : undefined;
  if (
    systemTool !== undefined &&
    (offeredName === undefined || systemTool.name.length >= offeredName.length)
  ) {
    return systemTool;
  }
  if (offeredName !== undefined) {
    const isOdd = namespaces > 1 || !offered.has(offeredName);
    return toFunction(offered.resolve(offeredName), isOdd, namespaces > 0);
  }

  const glued = offered.recipients.find((name) => beginsWith(text, name));
  if (glued !== undefined) return toFunction(offered.resolve(glued), true, namespaces > 0);
  const spelled = offered.systemRecipients.find((name) => beginsWith(text, name));
  const respelled = spelled === undefined ? undefined : toSystemTool(spelled, offered, namespaces);
  if (respelled !== undefined) return respelled;

  const word = /^[^\s{[<("']*/.exec(text)?.[0] ?? "";
  if (LABEL.test(word)) {
    const named = findName(text.slice(word.length), offered);
    return named === undefined ? { type: "lost" } : { ...named, isOdd: true };
  }
  const name = word.replace(/[:;,.?!]+$/, "");
  if (name === "") return { type: "lost" };
  if (namespaces === 0 && NOT_FUNCTIONS.test(name)) return { type: "no-function" };
  return toFunction(name, namespaces > 1 || name !== word, namespaces > 0);
}

/** Whether the name is a trained tool's: `python`, `browser.search`. */
export function isTrainedTool(name: string): boolean {
  return /^(?:python|browser|container|repo_browser)(?:\.|$)/.test(name);
}

/**
 * Finds a tool named without `to=`: an offered name, longest first, or `functions.x`. A text of many words is not
 * searched.
 */
export function findName(
  text: string,
  offered: OfferedNames,
): FunctionRecipient | SystemToolRecipient | undefined {
  const standing = findStanding(text, offered.longestFirst);
  const systemTool = findStanding(text, offered.systemNames);
  if (systemTool !== undefined && systemTool.length >= (standing?.length ?? 0)) {
    return isNamed(text, systemTool) ? toSystemTool(systemTool, offered, 0) : undefined;
  }
  if (standing !== undefined) {
    return isNamed(text, standing)
      ? { type: "function", name: offered.resolve(standing), isOdd: false, isTrained: false }
      : undefined;
  }
  const named = /(?:^|\s)(functions\.[^\s{[<("']+)/.exec(text)?.[1];
  if (named === undefined || countWords(text) > MAX_OTHER_WORDS + 1) return undefined;
  const recipient = readRecipient(named, offered);
  return recipient.type === "function" || recipient.type === "system-tool" ? recipient : undefined;
}

/** Whether the first word is an offered name and not a header word. */
export function beginsWithName(text: string, offered: OfferedNames): boolean {
  const word = text.trimStart();
  const begins = (name: string) =>
    word.startsWith(name) && !isHeaderWord(name) && !continuesName(word.slice(name.length));
  return offered.longestFirst.some(begins) || offered.systemNames.some(begins);
}

/** The first of these names that occurs in the text as a word, with or without `functions.`. */
function findStanding(text: string, names: readonly string[]): string | undefined {
  return names.find((name) => !isHeaderWord(name) && standsIn(text, name) !== undefined);
}

/** Returns the text before and after the name. */
function standsIn(text: string, name: string): readonly [string, string] | undefined {
  for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + 1)) {
    const before = text.slice(0, at);
    const after = text.slice(at + name.length);
    const isAlone = before === "" || /\s$/.test(before) || before.endsWith(NAMESPACE);
    if (isAlone && !continuesName(after)) return [before, after];
  }
  return undefined;
}

/** Whether the text has so few other words that it is not a sentence. */
function isNamed(text: string, name: string): boolean {
  const [before = "", after = ""] = standsIn(text, name) ?? [];
  return countWords(before) + countWords(after) <= MAX_OTHER_WORDS;
}

/** Other words that may accompany a name: a content type, a label, noise. */
const MAX_OTHER_WORDS = 2;

function countWords(text: string): number {
  return text.split(/\s+/).filter((word) => word !== "").length;
}

function readSystemTool(
  text: string,
  { systemTools }: OfferedNames,
  namespaces: number,
): SystemToolRecipient | undefined {
  for (const tool of systemTools) {
    if (!text.startsWith(tool.name)) continue;
    const found = readSystemName(text, tool);
    if (found === undefined) continue;
    const isOdd = found.isOdd || namespaces > 1;
    return { type: "system-tool", tool, ...found, isOdd, hasNamespace: namespaces > 0 };
  }
  return undefined;
}

function readSystemName(
  text: string,
  { name, functions }: SystemTool,
): Pick<SystemToolRecipient, "name" | "isOdd"> | undefined {
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
  // `python.exec`: there is only the tool. `browser.run`: the reply to the model says that there is no such function.
  return functions.length === 0
    ? { name, isOdd: true }
    : { name: `${name}${dotted.replace(/\.+$/, "")}`, isOdd: true };
}

/** Finds a function of a system tool in another spelling: `browser__search`, `search`. */
function toSystemTool(
  spelling: string,
  offered: OfferedNames,
  namespaces: number,
): SystemToolRecipient | undefined {
  const tool = offered.systemToolOf(spelling);
  if (tool === undefined) return undefined;
  const name = offered.resolve(spelling);
  const isOdd = name !== spelling;
  return { type: "system-tool", tool, name, isOdd, hasNamespace: namespaces > 0 };
}

function beginsWith(text: string, name: string): boolean {
  return text.startsWith(name) && endsName(text.slice(name.length));
}

/** Whether the name ends here: only words that models append may follow. */
function endsName(behind: string): boolean {
  const glued = GLUED.exec(behind)?.[0] ?? "";
  return !continuesName(behind.slice(glued.length));
}

function toFunction(name: string, isOdd: boolean, hasNamespace: boolean): Recipient {
  return { type: "function", name, isOdd, isTrained: !hasNamespace && isTrainedTool(name) };
}

function continuesName(after: string): boolean {
  return /^(?:[\p{L}\p{N}_\-/@$]|\.[\p{L}\p{N}_])/u.test(after);
}
