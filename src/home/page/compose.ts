/** The request that a conversation stands for. */
import { type Body, type Composed, SCHEMA_NAME } from "../../snippets/composed.ts";
import { isObject, readTools } from "../../snippets/read.ts";
import { type Conversation, type Message, toMessages } from "./conversation.ts";
import { state } from "./state.ts";

/** @throws Error with a sentence if the tools are no JSON. */
export function toComposed(conversation: Conversation, path: readonly Message[]): Composed {
  const { system, options, format } = conversation;
  return {
    model: modelOf(conversation),
    ...(system.trim() !== "" && { system }),
    messages: toMessages(path),
    ...parseTools(conversation.tools),
    options: {
      ...options,
      ...(format === "object" && { format: { type: "object" } }),
      ...(format === "schema" && {
        format: { type: "schema", name: SCHEMA_NAME, schema: parseSchema(conversation.schema) },
      }),
    },
  };
}

export function modelOf({ model }: Conversation): string {
  const served = state.status?.models ?? [];
  if (model !== undefined && served.some(({ id }) => id === model)) return model;
  return served[0]?.id ?? model ?? "openai/gpt-oss-20b";
}

/** @param given one tool or a list of them, in the shape of any API */
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

export function parseJson(given: string, field: string): unknown {
  try {
    const value: unknown = JSON.parse(given);
    return value;
  } catch (error) {
    const reason = error instanceof Error ? error.message : "";
    throw new Error(`${field}: this is not JSON. ${reason}`, { cause: error });
  }
}

/** A JSON Schema, for the field of the format. */
export function parseSchema(given: string): Body {
  const value = parseJson(given, "Schema");
  if (!isObject(value)) throw new Error("Schema: it must be an object.");
  return value;
}
