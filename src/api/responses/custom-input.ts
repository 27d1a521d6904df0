import { hasMembers, parseJson } from "../../engines/untyped-json.ts";

/**
 * Reads the body of a call of a tool that takes one text. Models write the text as it is, or as JSON: a string, or an
 * object with the text as its only member.
 */
export interface CustomInput {
  /** The part of the input that is certain. */
  push(body: string): string;
  /** The rest of the input. */
  end(): string;
}

export function createCustomInput(): CustomInput {
  let held = "";
  let form: "unknown" | "plain" | "json" = "unknown";
  return {
    push(body) {
      if (form === "plain") return body;
      held += body;
      if (form === "unknown") form = formOf(body);
      return form === "plain" ? drain() : "";
    },
    end: () => readBody(drain()),
  };

  function drain(): string {
    const text = held;
    held = "";
    return text;
  }
}

/** The first character tells. */
function formOf(body: string): "unknown" | "plain" | "json" {
  const [first] = body.trimStart();
  if (first === undefined) return "unknown";
  return first === "{" || first === '"' ? "json" : "plain";
}

/** The text in a whole body. */
function readBody(body: string): string {
  if (formOf(body) !== "json") return body;
  const value = parseJson(body);
  if (typeof value === "string") return value;
  const members: unknown[] = hasMembers(value) ? Object.values(value) : [];
  const [only] = members;
  return members.length === 1 && typeof only === "string" ? only : body;
}
