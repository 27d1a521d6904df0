/**
 * Reads replies like strict clients. The readers of `proof/fuzz/turns/apis.ts` check the order of a stream's events,
 * too.
 */
import * as z from "zod";

/** A stream that breaks a rule of its API. */
export class StreamError extends Error {
  constructor(rule: string, event?: unknown) {
    super(event === undefined ? rule : `${rule}: ${JSON.stringify(event).slice(0, 300)}`);
    this.name = "StreamError";
  }
}

/** The bodies of server-sent events, comments left out. */
export function readEvents(text: string): string[] {
  return text
    .split("\n\n")
    .filter((frame) => frame !== "" && !frame.startsWith(":"))
    .map((frame) => {
      const data = frame.split("\n").find((line) => line.startsWith("data: "));
      if (data === undefined) throw new StreamError("an event has data", frame);
      return data.slice("data: ".length);
    });
}

/** The bodies of a stream's events, parsed; without Chat Completions' last one. */
export function parseEvents<Event>(text: string, schema: z.ZodType<Event>): Event[] {
  return readEvents(text)
    .filter((data) => data !== "[DONE]")
    .map((data) => schema.parse(JSON.parse(data)));
}

const reasoningDetail = z.looseObject({
  type: z.string(),
  index: z.number(),
  text: z.string().optional(),
});

const toolCall = z.looseObject({
  id: z.string(),
  function: z.object({ name: z.string(), arguments: z.string() }),
});

const chatMessage = z.looseObject({
  role: z.literal("assistant"),
  content: z.string().nullable(),
  reasoning: z.string().nullish(),
  reasoning_details: z.array(reasoningDetail).optional(),
  tool_calls: z.array(toolCall).optional(),
});

export type ChatMessage = z.infer<typeof chatMessage>;

export const chatReply = z.looseObject({
  object: z.literal("chat.completion").optional(),
  choices: z.tuple([z.looseObject({ finish_reason: z.string(), message: chatMessage })]),
  usage: z.looseObject({ completion_tokens: z.number() }).optional(),
});

export const chatChunk = z.looseObject({
  object: z.literal("chat.completion.chunk"),
  choices: z.array(
    z.looseObject({
      index: z.number(),
      delta: z.looseObject({
        content: z.string().nullish(),
        reasoning: z.string().optional(),
        reasoning_details: z.array(reasoningDetail).optional(),
        tool_calls: z
          .array(
            z.object({
              index: z.number(),
              id: z.string().optional(),
              function: z.object({ name: z.string().optional(), arguments: z.string() }),
            }),
          )
          .optional(),
      }),
      finish_reason: z.string().nullable(),
    }),
  ),
});

/** The message of a Chat Completions reply, plain or streamed: deltas are joined like in OpenRouter's clients. */
export async function readChatMessage(response: Response): Promise<ChatMessage> {
  if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`);
  if (response.headers.get("content-type")?.startsWith("application/json")) {
    return chatReply.parse(await response.json()).choices[0].message;
  }
  const text = await response.text();
  if (!text.endsWith("\n\ndata: [DONE]\n\n")) throw new StreamError("a stream ends with [DONE]");
  const details = new Map<number, z.infer<typeof reasoningDetail>>();
  const calls = new Map<number, z.infer<typeof toolCall>>();
  let content = "";
  let reasoning = "";
  for (const { delta } of parseEvents(text, chatChunk).flatMap((chunk) => chunk.choices)) {
    content += delta.content ?? "";
    reasoning += delta.reasoning ?? "";
    for (const each of delta.reasoning_details ?? []) {
      const { text: begun } = details.get(each.index) ?? {};
      details.set(each.index, {
        ...details.get(each.index),
        ...each,
        ...(each.text !== undefined && { text: (begun ?? "") + each.text }),
      });
    }
    for (const { index, id = "", function: part } of delta.tool_calls ?? []) {
      const call = calls.get(index) ?? {
        id,
        type: "function",
        function: { name: part.name ?? "", arguments: "" },
      };
      call.function.arguments += part.arguments;
      calls.set(index, call);
    }
  }
  return {
    role: "assistant",
    content: content === "" && calls.size > 0 ? null : content,
    reasoning: reasoning === "" ? null : reasoning,
    ...(details.size > 0 && { reasoning_details: [...details.values()] }),
    ...(calls.size > 0 && { tool_calls: [...calls.values()] }),
  };
}

const responsesItem = z.looseObject({
  type: z.string(),
  content: z.array(z.looseObject({ text: z.string() })).optional(),
  call_id: z.string().optional(),
  namespace: z.string().nullish(),
  name: z.string().optional(),
  arguments: z.string().optional(),
  input: z.string().optional(),
});

export type ResponsesItem = z.infer<typeof responsesItem>;

export const responsesReply = z.looseObject({ id: z.string(), output: z.array(responsesItem) });

export const messagesReply = z.looseObject({
  content: z.array(
    z.looseObject({
      type: z.string(),
      thinking: z.string().optional(),
      text: z.string().optional(),
      id: z.string().optional(),
      name: z.string().optional(),
      input: z.unknown().optional(),
    }),
  ),
});
