/** Parses the fields for tools and schemas. Invalid text throws an `Error` with a sentence. */
import type { Body, Composed } from "../../src/snippets/composed.ts";
import { isObject, readTools } from "../../src/snippets/read.ts";

/** @param given one tool or a list of tools, in the form of any API */
export function parseTools(given: string): Pick<Composed, "tools" | "hosted"> {
  if (given.trim() === "") return { tools: [] };
  const value = parseJson(given, "Tools");
  const list = Array.isArray(value) ? value : [value];
  const read = readTools(list);
  if (
    read.tools.length + read.hosted.length < list.length ||
    !list.every((each) => isObject(each))
  ) {
    throw new Error("Tools: each must be an object with a name, or a type that the gateway runs.");
  }
  const nameless = read.hosted.find(
    (each) => typeof each["type"] !== "string" || each["type"] === "function",
  );
  if (nameless) throw new Error("Tools: a function needs a name of letters, digits, _ . or -.");
  return read;
}

function parseJson(given: string, field: string): unknown {
  try {
    const value: unknown = JSON.parse(given);
    return value;
  } catch (error) {
    const reason = error instanceof Error ? error.message : "";
    throw new Error(`${field}: this is not JSON. ${reason}`, { cause: error });
  }
}

/** Parses a JSON Schema for the format. */
export function parseSchema(given: string): Body {
  const value = parseJson(given, "Schema");
  if (!isObject(value)) throw new Error("Schema: it must be an object.");
  return value;
}
