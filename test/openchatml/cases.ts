/** Reads the vectors, and brings their notation (snake case, null for "not set") into ours. */
import { readFileSync } from "node:fs";
import { z } from "zod";
import type { Message as HarmonyMessage } from "../../src/harmony/index.ts";
import type { Document, DocumentHeader, Message } from "../../src/openchatml/index.ts";

const messageSchema = z.strictObject({
  role: z.enum(["system", "developer", "user", "assistant", "tool"]),
  name: z.string().optional(),
  to: z.string().optional(),
  call_id: z.string().optional(),
  channel: z.enum(["analysis", "commentary", "final"]),
  channel_explicit: z.literal(false).optional(),
  intent: z.string().optional(),
  content_type: z.string().optional(),
  constrain: z.string().optional(),
  content: z.string(),
  end: z.enum(["end", "call", "return"]),
});
type RawMessage = z.infer<typeof messageSchema>;

const header = z.custom<DocumentHeader>((value) => typeof value === "object").nullable();
const documentSchema = z.object({ header, messages: z.array(messageSchema) });

const inputSchema = z.object({
  text: z.string().optional(),
  body: z.string().optional(),
  form: z.enum(["text", "view", "sampling", "json", "chat", "reply"]).optional(),
  op: z.enum(["parse", "render", "view", "stream", "from-harmony"]).optional(),
  chunks: z.array(z.string()).optional(),
  document: documentSchema.optional(),
  options: z
    .object({
      hip1: z.boolean().optional(),
      lenient: z.boolean().optional(),
      requireHeader: z.boolean().optional(),
      mode: z.enum(["history", "training", "completion", "prompt"]).optional(),
      debug: z.boolean().optional(),
      channels: z.array(z.enum(["analysis", "commentary", "final"])).optional(),
      header: header.optional(),
      prefill: z.literal("assistant").optional(),
      cancel: z.string().optional(),
    })
    .default({}),
});

const lineSchema = z.object({
  id: z.string(),
  kind: z.enum(["parse", "render", "to-harmony", "from-harmony", "error", "stream"]),
  note: z.string(),
  input: inputSchema,
  expected: z.record(z.string(), z.unknown()),
});

export type Case = z.infer<typeof lineSchema> & {
  /** The conversation's JSON text, for `toConversation`. */
  readonly conversationText: string;
};

export function readCases(): Case[] {
  const path = new URL("../fixtures/openchatml-cases/openchatml.jsonl", import.meta.url);
  return readFileSync(path, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => {
      const raw = JSON.parse(line);
      return {
        ...lineSchema.parse(raw),
        conversationText: JSON.stringify(raw.input.conversation ?? raw.expected.conversation),
      };
    });
}

export function toDocument(raw: z.infer<typeof documentSchema>): Document {
  return { header: raw.header, messages: raw.messages.map(toMessage) };
}

function toMessage(raw: RawMessage): Message {
  const { call_id: callId, channel_explicit: explicit, content_type: contentType, ...rest } = raw;
  const { name, to, intent, constrain, ...required } = rest;
  return {
    ...required,
    ...(name !== undefined && { name }),
    ...(to !== undefined && { to }),
    ...(callId !== undefined && { callId }),
    ...(explicit === false && { implicitChannel: true }),
    ...(intent !== undefined && { intent }),
    ...(contentType !== undefined && { contentType }),
    ...(constrain !== undefined && { constrain }),
  };
}

/** The message in the spelling of the vectors. */
export function toRawMessage(message: Message): RawMessage {
  const { callId, implicitChannel, contentType, ...rest } = message;
  return {
    ...rest,
    ...(callId !== undefined && { call_id: callId }),
    ...(implicitChannel && { channel_explicit: false }),
    ...(contentType !== undefined && { content_type: contentType }),
  };
}

/** Without what is merely not set, so that two notations of a message compare. */
export function withoutUnset(messages: readonly HarmonyMessage[]): unknown {
  return JSON.parse(
    JSON.stringify(messages, (_, value: unknown) => (value === null ? undefined : value)),
  );
}
