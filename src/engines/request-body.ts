/** Parts of request bodies that several engines share. */
import { SPECIAL_TOKENS } from "../tokenizer/special-tokens.ts";
import type { TokenId } from "../tokenizer/tokenizer.ts";
import type { CompletionRequest, Constraint, Prompt } from "./engine.ts";
import type { RequestBody } from "./transport.ts";

/**
 * The ids that end every gpt-oss completion. Also sent as stop ids: a server whose copy of the model lists only one of
 * them would continue past a tool call.
 */
export const END_OF_GENERATION: readonly TokenId[] = [
  SPECIAL_TOKENS["<|endoftext|>"],
  SPECIAL_TOKENS["<|return|>"],
  SPECIAL_TOKENS["<|call|>"],
];

export function toStopIds(request: CompletionRequest): TokenId[] {
  return [...new Set([...END_OF_GENERATION, ...request.stopIds])];
}

/**
 * A JSON object from members that are JSON text already (a schema whose key order and numbers must be preserved) and from members
 * that are values. Undefined ones are left out.
 *
 * @param extra the configured `extraBody`: overrides both, and null removes a field.
 */
export function toJsonBody(
  texts: Readonly<Record<string, string | undefined>>,
  values: Readonly<Record<string, unknown>>,
  extra: Readonly<Record<string, unknown>> = {},
): string {
  // V8 copies a concatenated string once, when it is sent; joining a list copied 600 KB of ids twice more.
  let members = "";
  const add = (text: string): void => {
    members += members === "" ? text : `,${text}`;
  };
  for (const [key, text] of Object.entries(texts)) {
    if (text !== undefined && extra[key] === undefined) add(`${JSON.stringify(key)}:${text}`);
  }
  const rest: Record<string, unknown> = { ...values, ...extra };
  for (const key of Object.keys(extra)) if (extra[key] === null) rest[key] = undefined;
  const printed = JSON.stringify(rest).slice(1, -1);
  if (printed !== "") add(printed);
  return `{${members}}`;
}

const utf8 = new TextEncoder();
const OPENING_BRACKET = 0x5b;
/**
 * Like {@link toJsonBody}, in UTF-8, with the ids of a prompt as its first member: copying the bytes of the pieces takes 0.5 ms
 * for 400,000 ids, joining and encoding their texts 3.6 ms.
 */
export function toIdsBody(
  { member, prompt }: { readonly member: string; readonly prompt: Prompt },
  texts: Readonly<Record<string, string | undefined>>,
  values: Readonly<Record<string, unknown>>,
  extra: Readonly<Record<string, unknown>> = {},
): RequestBody {
  const rest = toJsonBody(texts, values, extra);
  if (extra[member] !== undefined) return rest;
  const ids = prompt.idsJson();
  const length = ids.reduce((sum, { byteLength }) => sum + byteLength, 0);
  const before = utf8.encode(`{${JSON.stringify(member)}:`);
  const after = utf8.encode(rest === "{}" ? "]}" : `],${rest.slice(1)}`);
  const body = new Uint8Array(before.length + Math.max(length, 1) + after.length);
  body.set(before);
  let at = before.length;
  for (const bytes of ids) {
    body.set(bytes, at);
    at += bytes.byteLength;
  }
  // The bracket replaces the first comma.
  body[before.length] = OPENING_BRACKET;
  body.set(after, body.length - after.length);
  return body;
}

/**
 * Creates a unique name for each call of an engine. One turn makes several calls, often while the server is still ending the last
 * one, and servers refuse a request id that is in use.
 */
export function createCallNames(): (request: CompletionRequest) => string {
  let calls = 0;
  return ({ requestId }) => {
    calls += 1;
    return `${requestId}-hg${calls}`;
  };
}

/** Whether a name has the form of a call's name, from any engine or gateway. */
export function isCallName(name: string): boolean {
  return /-hg\d+$/.test(name);
}

/** One of several texts as a grammar, in the notation llama.cpp and xgrammar share (GBNF, EBNF). */
export function toChoiceGrammar(options: readonly string[]): string {
  // A JSON string is a literal of the grammar too, for any text without control characters.
  return `root ::= ${options.map((option) => JSON.stringify(option)).join(" | ")}`;
}

/** The constraints of an engine: one entry for each type, from which its capabilities are derived as well. */
type Type = Constraint["type"];
type ByType = { readonly [C in Constraint as C["type"]]: C };

/**
 * Converts each type of constraint to the server's own form. Null: the server has no such form. A new type of {@link Constraint}
 * is a compile error in each engine until it has an entry.
 */
export type ConstraintMap<Native> = {
  readonly [K in Type]: ((constraint: ByType[K]) => Native) | null;
};

/** The types that a map converts, in its order: {@link Capabilities.constraints}. */
export function constraintTypes(map: ConstraintMap<unknown>): readonly Type[] {
  return Object.entries(map)
    .filter((entry): entry is [Type, (typeof entry)[1]] => entry[1] !== null)
    .map(([type]) => type);
}

/** Undefined without a constraint, and for a type that the server does not support. */
export function toNativeConstraint<Native>(
  map: ConstraintMap<Native>,
  constraint: Constraint | undefined,
): Native | undefined {
  return constraint && convert(map, constraint);
}

/** A constraint in the form in which TypeScript relates its type to the entry of the map. */
type Related<K extends Type = Type> = { readonly [P in K]: { readonly type: P } & ByType[P] }[K];

function convert<Native, K extends Type>(
  map: ConstraintMap<Native>,
  constraint: Related<K>,
): Native | undefined {
  return map[constraint.type]?.(constraint);
}
