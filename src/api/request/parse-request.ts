/** Parses and validates request bodies. Invalid bodies are answered with a 400 that names the field. */
import type { z } from "zod";
import { describeExpected, toFieldProblem } from "./describe-issue.ts";
import { RequestError } from "../errors.ts";
import { checkLimits, type CountedLists, refuseManyValues, type RequestLimits } from "./limits.ts";
import type { Stages } from "./stages.ts";

/** A zod schema, or an object with the same interface. */
export interface Parser<T> {
  safeParse(value: unknown, options: ParserOptions): Parsed<T>;
}

export interface ParserOptions {
  /** Describes an issue. */
  readonly error: (issue: z.core.$ZodRawIssue) => string;
}

export type Parsed<T> =
  | { readonly success: true; readonly data: T }
  | { readonly success: false; readonly error: { readonly issues: readonly z.core.$ZodIssue[] } };

/** Parses and validates a request's body: its text or its parsed value. Throws a {@link RequestError}. */
export async function readRequest<T>(
  read: string | object,
  schema: Parser<T>,
  limits: RequestLimits & CountedLists,
  stages: Stages,
): Promise<T> {
  const body = typeof read === "string" ? await parseInStages(read, stages) : read;
  checkLimits(body, limits);
  await stages.next();
  const request = parseWith(schema, body);
  await stages.next();
  return request;
}

/**
 * Parses a client's JSON text. Rejects with a {@link RequestError} unless it is a JSON object, and before too many values are
 * built.
 */
export async function parseInStages(text: string, stages: Stages): Promise<object> {
  await stages.run(refuseManyValues(text));
  return parseBody(text);
}

/**
 * Parses JSON text whose values have been counted, or text of the operator. Throws a {@link RequestError} unless it is
 * a JSON object.
 */
export function parseBody(text: string): object {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new RequestError(`The request body is not valid JSON: ${reason}`);
  }
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    throw new RequestError("The request body must be a JSON object.");
  }
  return body;
}

/**
 * Checks a value against a schema. Throws a {@link RequestError} for the first issue.
 * @param field The value's path in the request, `tools[1]`; empty if it is the whole body.
 */
export function parseWith<T>(schema: Parser<T>, value: unknown, field = ""): T {
  const result = schema.safeParse(value, { error: describeExpected });
  if (result.success) return result.data;
  const { param: within, sentence, expected } = toFieldProblem(result.error.issues[0], value);
  const param = field === "" || within === "" ? field + within : `${field}.${within}`;
  const subject = param === "" ? "The request" : `${param}:`;
  throw new RequestError(`${subject} ${sentence}${param === "" ? "." : ""}`, {
    param: param === "" ? null : param,
    reason: `${subject} ${expected}`,
  });
}
