/** From the bytes of a request to a checked value, or a 400 that names the field. */
import type { z } from "zod";
import { RequestError } from "./errors.ts";

/** Parses JSON text. Anything that is not a JSON object is the client's mistake. */
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

/** Checks a value against a schema. The first problem becomes a {@link RequestError}. */
export function parseWith<S extends z.ZodType>(schema: S, value: unknown): z.infer<S> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issue = deepest(result.error.issues[0]);
  const param = toParam(issue.path);
  throw new RequestError(param === "" ? issue.message : `${param}: ${issue.message}`, {
    param: param === "" ? null : param,
  });
}

interface Issue {
  readonly message: string;
  readonly path: readonly PropertyKey[];
}

/** Of a failed union, the branch that came furthest: its message is about what the client meant. */
function deepest(issue: z.core.$ZodIssue | undefined): Issue {
  if (issue === undefined) return { message: "is not valid", path: [] };
  if (issue.code !== "invalid_union" || issue.errors.length === 0) return issue;
  let best: Issue = issue;
  for (const branch of issue.errors) {
    const inner = deepest(branch[0]);
    const path = [...issue.path, ...inner.path];
    if (path.length > best.path.length) best = { message: inner.message, path };
  }
  return best;
}

/** `["messages", 0, "role"]` as a client writes it: `messages[0].role`. */
function toParam(path: readonly PropertyKey[]): string {
  let param = "";
  for (const key of path) {
    if (typeof key === "number") param += `[${key}]`;
    else param += param === "" ? String(key) : `.${String(key)}`;
  }
  return param;
}
