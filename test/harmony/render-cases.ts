/** Reads the golden cases: lines of JSON as openai/harmony 0.0.8 answered them. */

import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { z } from "zod";
import {
  type ContentPart,
  type Conversation,
  isJsonArray,
  isJsonObject,
  type Json,
  memberText,
  type Message,
  parseJson,
  type Role,
  type ToolFunction,
  type ToolNamespace,
} from "../../src/harmony/index.ts";

const role = z.enum(["system", "developer", "user", "assistant", "tool"]);

const caseSchema = z.object({
  id: z.string(),
  level: z.enum(["harmony", "chat"]),
  mode: z.enum(["completion", "conversation", "training", "message"]),
  next_role: role.nullish(),
  drop_analysis: z.boolean().nullish(),
  conversation_raw: z.string().optional(),
  expected_text: z.string().optional(),
  expected_token_ids: z.array(z.number()).optional(),
  expected_error: z.string().optional(),
  channel_first: z.object({ text: z.string(), token_ids: z.array(z.number()) }).optional(),
  tags: z.array(z.string()).default([]),
});

export type RenderCase = z.infer<typeof caseSchema> & {
  /** The conversation's JSON text, numbers and keys as they stand in the file. */
  readonly conversationText: string;
};

export function readRenderCases(name: string): RenderCase[] {
  const bytes = readFileSync(new URL(`../fixtures/harmony-cases/${name}`, import.meta.url));
  const text = (name.endsWith(".gz") ? gunzipSync(bytes) : bytes).toString("utf8");
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => {
      const fields = caseSchema.parse(JSON.parse(line));
      const conversationText = fields.conversation_raw ?? memberText(line, "conversation") ?? "";
      return { ...fields, conversationText };
    });
}

/** From the notation of the cases, where null means "not set", to ours. */
export function toConversation(text: string): Conversation {
  return { messages: list(member(parseJson(text), "messages")).map(toMessage) };
}

function toMessage(json: Json): Message {
  const content = member(json, "content");
  return {
    role: toRole(member(json, "role")),
    ...optional("name", string(member(json, "name"))),
    ...optional("recipient", string(member(json, "recipient"))),
    ...optional("channel", string(member(json, "channel"))),
    ...optional("contentType", string(member(json, "content_type"))),
    content: typeof content === "string" ? content : list(content).map(toPart),
  };
}

function toRole(json: Json | undefined): Role {
  return role.parse(json);
}

function toPart(json: Json): ContentPart {
  const type = member(json, "type");
  const namespaces = member(json, "namespaces");
  const tools = isJsonArray(namespaces) ? namespaces.map(toNamespace) : undefined;
  if (type === "text") return { type, text: string(member(json, "text")) ?? "" };
  if (type === "developer") {
    return {
      type,
      ...optional("instructions", string(member(json, "instructions"))),
      ...optional("namespaces", tools),
    };
  }
  const effort = z.enum(["low", "medium", "high"]).nullish().parse(member(json, "effort"));
  const channels = member(json, "channels");
  return {
    type: "system",
    ...optional("identity", string(member(json, "identity"))),
    ...optional("effort", effort ?? undefined),
    ...optional("knowledgeCutoff", string(member(json, "knowledge_cutoff"))),
    ...optional("date", string(member(json, "date"))),
    ...optional(
      "channels",
      isJsonArray(channels) ? channels.map((channel) => string(channel) ?? "") : undefined,
    ),
    channelsRequired: member(json, "channels_required") === true,
    ...optional("namespaces", tools),
  };
}

function toNamespace(json: Json): ToolNamespace {
  return {
    key: string(member(json, "key")) ?? "",
    name: string(member(json, "name")) ?? "",
    ...optional("description", string(member(json, "description"))),
    functions: list(member(json, "functions")).map(toFunction),
  };
}

function toFunction(json: Json): ToolFunction {
  return {
    name: string(member(json, "name")) ?? "",
    description: string(member(json, "description")) ?? "",
    ...optional("parameters", member(json, "parameters") ?? undefined),
  };
}

function member(json: Json | undefined, key: string): Json | undefined {
  return isJsonObject(json) ? json.get(key) : undefined;
}

function list(json: Json | undefined): readonly Json[] {
  return isJsonArray(json) ? json : [];
}

function string(json: Json | undefined): string | undefined {
  return typeof json === "string" ? json : undefined;
}

function optional<K extends string, V>(key: K, value: V | undefined): Partial<Record<K, V>> {
  const entry: Partial<Record<K, V>> = {};
  if (value !== undefined) entry[key] = value;
  return entry;
}
