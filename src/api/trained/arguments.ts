/** The arguments of calls: reads and converts single values. */
import { isObject, parseBoundedJson } from "../../engines/untyped-json.ts";

/** Values by name, in a `Map` because names come from models and clients. */
export type Arguments = ReadonlyMap<string, unknown>;

/** Thrown when the model's arguments cannot be converted. The message is for the model. */
export class Unconvertible extends Error {
  override readonly name = "Unconvertible";
}

/** Undefined: the text is not a JSON object. */
export function readArguments(text: string): Arguments | undefined {
  const value = parseBoundedJson(text);
  return isObject(value) ? new Map(Object.entries(value)) : undefined;
}

export function printArguments(args: Arguments): string {
  return JSON.stringify(Object.fromEntries(args));
}

export function textOf(value: unknown, name: string): string {
  if (typeof value === "string") return value;
  throw new Unconvertible(value === undefined ? `missing ${name}` : `${name} must be a string`);
}

export function wholeOf(value: unknown, name: string, least: number): number {
  if (isWhole(value) && value >= least) return value;
  throw new Unconvertible(`${name} must be a whole number of ${least} or more`);
}

export function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

export function isWords(value: unknown): value is string[] {
  return (
    Array.isArray(value) && value.length > 0 && value.every((word) => typeof word === "string")
  );
}

/** The text for a shell: `text` of `["bash", "-lc", text]`; any other words are quoted. */
export function toShellText(command: unknown): string {
  if (typeof command === "string" && command !== "") return command;
  if (command === undefined) throw new Unconvertible("missing command");
  if (!isWords(command)) throw new Unconvertible("command must be an array of strings");
  const [shell = "", flag = "", text, ...others] = command;
  const isShell = /^(?:\/(?:usr\/)?bin\/)?(?:ba)?sh$/.test(shell) && /^-l?c$/.test(flag);
  if (isShell && text && others.length === 0) return text;
  return command.map(quote).join(" ");
}

export function toShellWords(text: string): string[] {
  return ["bash", "-lc", text];
}

function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/**
 * Maximum length of a checked pattern. V8 parses group names and references in quadratic time: 280 KB of both took 14
 * seconds.
 */
const MAX_READ_PATTERN = 1024;

/**
 * Whether the text is a regular expression of JavaScript or of ripgrep, which clients use. A long text counts as one.
 */
export function isPattern(text: string): boolean {
  if (text.length > MAX_READ_PATTERN) return true;
  try {
    RegExp(withoutFlags(text));
    return true;
  } catch {
    return false;
  }
}

/** Removes `(?i)` and the `P` of `(?P<name>`, which only ripgrep accepts. */
function withoutFlags(text: string): string {
  return text.replaceAll(/\(\?[a-z-]+\)/gi, "").replaceAll(/\(\?(?:[a-z-]+(?=:)|P(?=<))/gi, "(?");
}

export function escapePattern(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}
