/**
 * Describes a schema's issue with a request in one sentence: the expected value and the received one.
 *
 * A schema may have its own description of the expected value (`must be the id of an ordinary token`); the received
 * value is added to it as well.
 */
import type { z } from "zod";

export interface FieldProblem {
  /** The field's path in the client's notation, `messages[0].role`; empty for the whole value. */
  readonly param: string;
  /** `must be an array, but it is "hi"`. */
  readonly sentence: string;
  /** The sentence without the client's value: `must be an array`. */
  readonly expected: string;
}

/** Describes the value that a schema expects. Pass it to `safeParse` as `error`. */
export function describeExpected(issue: z.core.$ZodRawIssue): string {
  switch (issue.code) {
    case "invalid_type":
      return `must be ${TYPES[issue.expected] ?? `of the type ${issue.expected}`}`;
    case "invalid_value":
      return `must be ${oneOf(issue.values.map((value) => toWord(value)))}`;
    case "too_small":
      return `must ${toBound(issue.origin, issue.inclusive === false ? "more than" : "at least", issue.minimum)}`;
    case "too_big":
      return issue.origin === "int"
        ? "must be an integer that a double can represent"
        : `must ${toBound(issue.origin, issue.inclusive === false ? "less than" : "at most", issue.maximum)}`;
    case "not_multiple_of":
      return `must be a multiple of ${issue.divisor}`;
    case "invalid_format":
      return `must be ${FORMATS[issue.format] ?? `a string of the format ${issue.format}`}`;
    case "unrecognized_keys":
      return `must not have ${oneOf(issue.keys.map((key) => toWord(key)))}`;
    case "invalid_key":
      return "must be a valid key";
    case "invalid_element":
      return "must contain valid values";
    case "invalid_union":
      return Array.isArray(issue.options)
        ? `must be ${oneOf(issue.options.map((value) => toWord(value)))}`
        : NO_FORM;
    case "custom":
    default:
      return "must be valid";
  }
}

/** The issue to report: the first one or, in a union, the issue of the variant that the client most likely meant. */
export function toFieldProblem(issue: z.core.$ZodIssue | undefined, value: unknown): FieldProblem {
  const { path, expected, key } = findMeant(issue, []);
  const param = toParam(path);
  if (!expected.startsWith("must")) return { param, sentence: expected, expected };
  const sentence = `${expected}, but it is ${toWords(key ?? valueAt(value, path))}`;
  // Names of unknown fields also come from the client.
  return { param, sentence, expected: expected.replace(/^must not have .*$/s, UNKNOWN_FIELD) };
}

const UNKNOWN_FIELD = "must not have unknown fields";

interface Problem {
  readonly path: readonly PropertyKey[];
  readonly expected: string;
  /** The invalid key, if a key and not a value is invalid. */
  readonly key?: string;
}

function findMeant(issue: z.core.$ZodIssue | undefined, before: readonly PropertyKey[]): Problem {
  if (issue === undefined) return { path: before, expected: "is not valid" };
  const path = [...before, ...issue.path];
  if (issue.code === "invalid_key") {
    const expected = issue.issues[0]?.message ?? issue.message;
    return { path, expected, key: String(path.at(-1)) };
  }
  if (issue.code !== "invalid_union" || issue.errors.length === 0) {
    return { path, expected: issue.message };
  }
  const branches = issue.errors.map((errors) => ({
    ...findMeant(errors[0], path),
    // The value has a different type, unless the issue is nested deeper.
    isOtherForm: errors[0]?.code === "invalid_type" || errors[0]?.code === "invalid_value",
  }));
  const deepest = Math.max(...branches.map((branch) => branch.path.length));
  const meant =
    deepest > path.length
      ? branches.find((branch) => branch.path.length === deepest)
      : branches.find((branch) => !branch.isOtherForm);
  if (meant !== undefined) return meant;
  if (issue.message !== NO_FORM) return { path, expected: issue.message };
  // No variant is recognisable, so all are named: `must be a string or an array`.
  const forms = branches.map(({ expected }) => expected.replace(/^must be /, ""));
  return { path, expected: `must be ${oneOf([...new Set(forms)])}` };
}

const NO_FORM = "must have another form";

const TYPES: Readonly<Record<string, string>> = {
  string: "a string",
  number: "a number",
  int: "an integer",
  boolean: "true or false",
  array: "an array",
  object: "an object",
  record: "an object",
  null: "null",
};

const FORMATS: Readonly<Record<string, string>> = {
  url: "a URL",
  regex: "a string of another form",
};

function toBound(origin: string, relation: string, bound: number | bigint): string {
  switch (origin) {
    case "string":
      return `have ${relation} ${bound} ${Number(bound) === 1 ? "character" : "characters"}`;
    case "array":
    case "set":
      return `hold ${relation} ${bound} ${Number(bound) === 1 ? "item" : "items"}`;
    default:
      return `be ${relation} ${bound}`;
  }
}

function oneOf(words: readonly string[]): string {
  const last = words.at(-1) ?? "something else";
  return words.length < 2 ? last : `${words.slice(0, -1).join(", ")} or ${last}`;
}

function toWord(value: unknown): string {
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}

/** Maximum length of quoted strings: longer strings can be whole messages. */
const LONGEST_SHOWN = 40;

function toWords(value: unknown): string {
  if (value === undefined) return "missing";
  if (typeof value === "string") {
    return value.length <= LONGEST_SHOWN
      ? JSON.stringify(value)
      : `a string of ${value.length} characters`;
  }
  if (Array.isArray(value))
    return value.length === 0 ? "an empty array" : `an array of ${value.length}`;
  return typeof value === "object" && value !== null ? "an object" : JSON.stringify(value);
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let at = value;
  for (const key of path) {
    if (typeof at !== "object" || at === null) return undefined;
    at = Object.getOwnPropertyDescriptor(at, key)?.value;
  }
  return at;
}

/** Formats the path `["messages", 0, "role"]` as `messages[0].role`. */
function toParam(path: readonly PropertyKey[]): string {
  let param = "";
  for (const key of path) {
    if (typeof key === "number") param += `[${key}]`;
    else param += param === "" ? shortened(String(key)) : `.${shortened(String(key))}`;
  }
  return param;
}

/** Keys may come from the client and have any length. */
function shortened(key: string): string {
  return key.length <= LONGEST_SHOWN ? key : `${key.slice(0, LONGEST_SHOWN)}…`;
}
