/** Parses and validates request bodies. Invalid ones are answered with a 400 that names the field. */
import type { z } from "zod";
import { describeExpected, toFieldProblem } from "./describe-issue.ts";
import { RequestError } from "./errors.ts";
import { checkLimits, type CountedLists, type RequestLimits } from "./limits.ts";
import type { Stages } from "./stages.ts";

/** Parses and validates a request's body: its text, or what it was parsed to. Throws a {@link RequestError}. */
export async function readRequest<S extends z.ZodType>(
  read: string | object,
  schema: S,
  limits: RequestLimits & CountedLists,
  stages: Stages,
): Promise<z.infer<S>> {
  const body = typeof read === "string" ? parseBody(read) : read;
  checkLimits(body, limits);
  await stages.next();
  const request = parseWith(schema, body);
  await stages.next();
  return request;
}

/** Parses JSON text. Throws a {@link RequestError} unless it is a JSON object. */
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
export function parseWith<S extends z.ZodType>(schema: S, value: unknown, field = ""): z.infer<S> {
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
