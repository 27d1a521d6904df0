/** Zod's issues in the words of messages about settings. Pass it to `safeParse` as `error`; a schema's own message stays. */
import type * as z from "zod";

/** Undefined: zod's own text, for issues that settings have only with a message of their schema. */
export function describeIssue(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case "invalid_type":
      return issue.input === undefined
        ? "is missing"
        : `expected ${TYPES.get(issue.expected) ?? issue.expected}`;
    case "invalid_value":
      return `expected one of ${issue.values.join(", ")}`;
    case "too_small":
      return issue.inclusive === false
        ? `expected more than ${issue.minimum}`
        : `expected ${toMeasure(issue.origin)}${issue.minimum} or more`;
    case "too_big":
      return `expected ${toMeasure(issue.origin)}${issue.maximum} or less`;
    default:
      return undefined;
  }
}

const TYPES = new Map([
  ["string", "some text"],
  ["number", "a number"],
  ["int", "a whole number"],
  ["boolean", "true or false"],
  ["array", "a list"],
  ["object", "an object"],
  ["record", "an object"],
]);

function toMeasure(origin: string): string {
  return origin === "string" || origin === "array" ? "a length of " : "";
}
