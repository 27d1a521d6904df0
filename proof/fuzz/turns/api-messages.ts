/** The Messages API for the search: converts a case to a request, and both forms of the answer to an observation. */
import { z } from "zod";
import type { Api, Observed } from "./apis.ts";
import type { Demands, HistoryEntry, RequestedToolChoice } from "./case.ts";
import { contentOf } from "./media.ts";
import { ANSWER, FUNCTIONS } from "./schemas.ts";
import { readEvents, StreamError } from "../../../test/helpers/replies.ts";

/** The maximum, for cases without a limit: this API requires one. */
const NO_LIMIT = 1200;

export const messages: Api = {
  path: "/v1/messages",

  toBody({ demands, history }, stream) {
    const { prefill, stop, effort } = demands;
    return {
      model: "openai/gpt-oss-20b",
      max_tokens: demands.maxTokens ?? NO_LIMIT,
      messages: [
        ...history.flatMap((entry) => toMessages(entry)),
        ...(prefill === undefined ? [] : [{ role: "assistant", content: prefill }]),
      ],
      stream,
      ...(demands.tools.length > 0 && {
        tools: demands.tools.map(({ name, strict }) => ({
          name,
          input_schema: FUNCTIONS[name],
          strict,
        })),
      }),
      tool_choice: toToolChoice(demands),
      thinking: toThinking(demands),
      output_config: {
        ...(effort !== undefined && effort !== "none" && { effort }),
        ...(demands.format !== "text" && { format: { type: "json_schema", schema: ANSWER } }),
      },
      ...(stop.length > 0 && { stop_sequences: stop }),
    };
  },

  toFollowUp(given, answer, keepsReasoning) {
    const { content } = messageBody.parse(answer);
    const body = { messages: [], ...messages.toBody(given, false) };
    return {
      ...body,
      messages: [
        ...body.messages,
        {
          role: "assistant",
          content: content.filter(({ type }) => keepsReasoning || type !== "thinking"),
        },
        {
          role: "user",
          content: content.flatMap((block) =>
            block.type === "tool_use"
              ? [{ type: "tool_result", tool_use_id: block.id, content: "done" }]
              : [],
          ),
        },
      ],
    };
  },

  readPlain(body) {
    const failure = errorBody.safeParse(body);
    if (failure.success) return toFailure(failure.data.error.message);
    return toObserved(messageBody.parse(body));
  },

  readStream(text) {
    const accumulator = new Accumulator();
    for (const event of readEvents(text)) accumulator.push(eventBody.parse(JSON.parse(event)));
    return accumulator.end();
  },
};

// ---- The request -----------------------------------------------------------------------------------

function toMessages(entry: HistoryEntry): object[] {
  const analysis = (reasoning: string | undefined) =>
    reasoning === undefined ? [] : [{ type: "thinking", thinking: reasoning, signature: "" }];
  switch (entry.role) {
    case "system":
      return [{ role: "system", content: entry.text }];
    case "user":
      return [{ role: "user", content: contentOf("messages", entry.text, entry.media) }];
    case "assistant": {
      const text = { type: "text", text: entry.text };
      return [{ role: "assistant", content: [...analysis(entry.reasoning), text] }];
    }
    case "call": {
      const { id, name, args, reasoning, result } = entry;
      const call = { type: "tool_use", id, name, input: JSON.parse(args) };
      return [
        { role: "assistant", content: [...analysis(reasoning), call] },
        {
          role: "user",
          content: [
            {
              type: "tool_result",
              tool_use_id: id,
              content: contentOf("messages", result, entry.media),
            },
          ],
        },
      ];
    }
    default:
      return entry satisfies never;
  }
}

function toToolChoice({ toolChoice, parallelToolCalls }: Demands): object {
  const choice = toChoice(toolChoice);
  return toolChoice.type === "none"
    ? choice
    : { ...choice, disable_parallel_tool_use: !parallelToolCalls };
}

function toChoice(choice: RequestedToolChoice): { readonly type: string; readonly name?: string } {
  switch (choice.type) {
    case "auto":
    case "none":
      return { type: choice.type };
    case "required":
      return { type: "any" };
    case "named":
      return { type: "tool", name: choice.name };
    case "allowed":
      throw new Error("this API has no allowed tools");
    default:
      return choice satisfies never;
  }
}

function toThinking({ effort, reasoningBudget }: Demands): object {
  if (effort === "none") return { type: "disabled" };
  return reasoningBudget === undefined
    ? { type: "adaptive", display: "summarized" }
    : { type: "enabled", budget_tokens: reasoningBudget };
}

// ---- The answer ------------------------------------------------------------------------------------

const thinkingBlock = z.object({
  type: z.literal("thinking"),
  thinking: z.string(),
  signature: z.string(),
});
const textBlock = z.object({ type: z.literal("text"), text: z.string() });
const toolUseBlock = z.object({
  type: z.literal("tool_use"),
  id: z.string().regex(/^[\w-]+$/),
  name: z.string(),
  input: z.record(z.string(), z.unknown()),
});
const block = z.discriminatedUnion("type", [thinkingBlock, textBlock, toolUseBlock]);

type Block = z.infer<typeof block>;

const usageBody = z.object({
  input_tokens: z.number(),
  cache_read_input_tokens: z.number(),
  output_tokens: z.number(),
  output_tokens_details: z.object({ thinking_tokens: z.number() }),
});

const stopReason = z.enum(["end_turn", "max_tokens", "stop_sequence", "tool_use"]);

const messageBody = z.object({
  type: z.literal("message"),
  content: z.array(block),
  stop_reason: stopReason,
  stop_sequence: z.string().nullable(),
  usage: usageBody,
});

const errorBody = z.object({
  type: z.literal("error"),
  error: z.object({ type: z.string(), message: z.string() }),
});

const delta = z.discriminatedUnion("type", [
  z.object({ type: z.literal("thinking_delta"), thinking: z.string() }),
  z.object({ type: z.literal("signature_delta"), signature: z.string().min(1) }),
  z.object({ type: z.literal("text_delta"), text: z.string() }),
  z.object({ type: z.literal("input_json_delta"), partial_json: z.string() }),
]);

const eventBody = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("message_start"),
    message: z.object({
      content: z.array(z.unknown()).length(0),
      stop_reason: z.null(),
      usage: z.object({ input_tokens: z.number(), output_tokens: z.literal(0) }),
    }),
  }),
  z.object({ type: z.literal("content_block_start"), index: z.number(), content_block: block }),
  z.object({ type: z.literal("content_block_delta"), index: z.number(), delta }),
  z.object({ type: z.literal("content_block_stop"), index: z.number() }),
  z.object({
    type: z.literal("message_delta"),
    delta: z.object({ stop_reason: stopReason, stop_sequence: z.string().nullable() }),
    usage: usageBody,
  }),
  z.object({ type: z.literal("message_stop") }),
  z.object({ type: z.literal("ping") }),
  errorBody,
]);

type Event = z.infer<typeof eventBody>;
type Delta = z.infer<typeof delta>;

const FINISHES: Readonly<Record<z.infer<typeof stopReason>, string>> = {
  end_turn: "stop",
  stop_sequence: "stop",
  max_tokens: "length",
  tool_use: "tool-calls",
};

function toFailure(message: string): Observed {
  return { choices: [], usage: undefined, error: message };
}

function toObserved({
  content,
  stop_reason: reason,
  usage,
}: Pick<z.infer<typeof messageBody>, "content" | "stop_reason" | "usage">): Observed {
  const unsigned = content.find((each) => each.type === "thinking" && each.signature === "");
  if (unsigned !== undefined) throw new StreamError("a thinking block is signed", unsigned);
  const prompt = usage.input_tokens + usage.cache_read_input_tokens;
  return {
    choices: [
      {
        reasoning: content
          .flatMap((each) => (each.type === "thinking" ? [each.thinking] : []))
          .join("\n\n"),
        content: content.flatMap((each) => (each.type === "text" ? [each.text] : [])).join("\n\n"),
        calls: content.flatMap((each) =>
          each.type === "tool_use"
            ? [{ id: each.id, name: each.name, args: JSON.stringify(each.input) }]
            : [],
        ),
        finish: FINISHES[reason],
      },
    ],
    usage: {
      prompt,
      completion: usage.output_tokens,
      total: prompt + usage.output_tokens,
      reasoning: usage.output_tokens_details.thinking_tokens,
    },
  };
}

/** Accumulates a message as the SDK does, and checks all its rules. */
class Accumulator {
  readonly #content: Block[] = [];
  #hasStarted = false;
  #open: { readonly block: Block; input: string } | undefined;
  #end: Extract<Event, { type: "message_delta" }> | undefined;
  #isOver = false;
  #error: string | undefined;

  push(event: Event): void {
    if (event.type === "ping") return;
    check(!this.#isOver, "nothing follows the end", event);
    check(this.#hasStarted !== (event.type === "message_start"), "one start, at first", event);
    switch (event.type) {
      case "message_start":
        this.#hasStarted = true;
        return;
      case "content_block_start":
        check(this.#open === undefined, "blocks come one after the other", event);
        check(this.#end === undefined, "blocks come before the message's delta", event);
        check(event.index === this.#content.length, "indexes have no gaps", event);
        this.#open = { block: { ...event.content_block }, input: "" };
        return;
      case "content_block_delta":
        check(event.index === this.#content.length, "a delta is of the open block", event);
        return this.#add(event.delta);
      case "content_block_stop":
        return this.#close(event);
      case "message_delta":
        check(this.#open === undefined, "blocks are closed first", event);
        check(this.#end === undefined, "one message delta", event);
        this.#end = event;
        return;
      case "message_stop":
        check(this.#end !== undefined, "the message's delta comes first", event);
        this.#isOver = true;
        return;
      case "error":
        this.#error = event.error.message;
        this.#isOver = true;
        return;
      default:
        event satisfies never;
    }
  }

  #add(added: Delta): void {
    const open = this.#open;
    if (open === undefined) throw new StreamError("a delta is of the open block", added);
    const { block: into } = open;
    if (into.type === "thinking" && added.type === "thinking_delta") {
      check(into.signature === "", "the signature comes last", added);
      into.thinking += added.thinking;
    } else if (into.type === "thinking" && added.type === "signature_delta") {
      check(into.signature === "", "one signature", added);
      into.signature = added.signature;
    } else if (into.type === "text" && added.type === "text_delta") {
      into.text += added.text;
    } else if (into.type === "tool_use" && added.type === "input_json_delta") {
      open.input += added.partial_json;
    } else {
      throw new StreamError("a delta is of its block's kind", added);
    }
  }

  #close(event: Extract<Event, { type: "content_block_stop" }>): void {
    const open = this.#open;
    if (open === undefined) throw new StreamError("an open block closes", event);
    check(event.index === this.#content.length, "an open block closes", event);
    const { block: closed, input } = open;
    if (closed.type === "tool_use" && input !== "") {
      closed.input = z.record(z.string(), z.unknown()).parse(JSON.parse(input));
    }
    this.#content.push(closed);
    this.#open = undefined;
  }

  end(): Observed {
    if (this.#error !== undefined) return toFailure(this.#error);
    check(this.#isOver, "a stream has an end");
    if (this.#end === undefined) throw new StreamError("a stream has a message delta");
    const { delta: end, usage } = this.#end;
    return toObserved({ content: this.#content, stop_reason: end.stop_reason, usage });
  }
}

function check(holds: boolean, rule: string, event?: unknown): void {
  if (!holds) throw new StreamError(rule, event);
}
