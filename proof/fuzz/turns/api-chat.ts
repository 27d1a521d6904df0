/** Chat Completions for the search: converts a case to a request, and both forms of the answer to an observation. */
import { z } from "zod";
import type { Api, Observed, ObservedCall, ObservedChoice, ObservedLogprob } from "./apis.ts";
import type { HistoryEntry, RequestedToolChoice } from "./case.ts";
import { FIRST_SEED } from "./engine.ts";
import { contentOf } from "./media.ts";
import { ANSWER, FUNCTIONS } from "./schemas.ts";
import { readEvents, StreamError } from "../../../test/helpers/replies.ts";

export const chat: Api = {
  path: "/v1/chat/completions",

  toBody({ demands, history }, stream) {
    const { prefill, stop, effort, reasoningBudget } = demands;
    return {
      model: "openai/gpt-oss-20b",
      messages: [
        ...history.flatMap((entry) => toMessages(entry)),
        ...(prefill === undefined ? [] : [{ role: "assistant", content: prefill }]),
      ],
      seed: FIRST_SEED,
      stream,
      ...(demands.tools.length > 0 && {
        tools: demands.tools.map(({ name, strict }) => ({
          type: "function",
          function: { name, parameters: FUNCTIONS[name], strict },
        })),
      }),
      tool_choice: toToolChoice(demands.toolChoice),
      parallel_tool_calls: demands.parallelToolCalls,
      ...(demands.format === "json-object" && { response_format: { type: "json_object" } }),
      ...(demands.format === "json-schema" && {
        response_format: {
          type: "json_schema",
          json_schema: { name: "answer", schema: ANSWER, strict: true },
        },
      }),
      ...(stop.length > 0 && { stop }),
      ...(demands.maxTokens !== undefined && { max_completion_tokens: demands.maxTokens }),
      ...(effort !== undefined && { reasoning_effort: effort }),
      ...(reasoningBudget !== undefined && { reasoning: { max_tokens: reasoningBudget } }),
      ...(demands.hidesReasoning && { include_reasoning: false }),
      ...(demands.topLogprobs !== undefined && {
        logprobs: true,
        top_logprobs: demands.topLogprobs,
      }),
      n: demands.n,
    };
  },

  toFollowUp(given, answer, keepsReasoning) {
    const completion = completionBody.parse(answer);
    if ("error" in completion) throw new Error("a failed turn has no next one");
    const { content, reasoning, tool_calls: calls = [] } = completion.choices[0]?.message ?? {};
    const body = { messages: [], ...chat.toBody(given, false) };
    return {
      ...body,
      messages: [
        ...body.messages,
        {
          role: "assistant",
          content,
          tool_calls: calls.map((call) => ({ ...call, type: "function" })),
          ...(keepsReasoning && { reasoning }),
        },
        ...calls.map(({ id }) => ({ role: "tool", tool_call_id: id, content: "done" })),
      ],
    };
  },

  readPlain(body) {
    const completion = completionBody.parse(body);
    if ("error" in completion)
      return { choices: [], usage: undefined, error: completion.error.message };
    return {
      choices: completion.choices.map(({ message, logprobs, ...choice }) => ({
        reasoning: message.reasoning ?? "",
        content: message.content ?? "",
        calls: (message.tool_calls ?? []).map(toCall),
        finish: toFinish(choice.finish_reason),
        nativeReason: choice.native_finish_reason,
        ...(choice.error && { error: choice.error.message }),
        ...(logprobs?.content && { logprobs: logprobs.content.map(toLogprob) }),
      })),
      usage: toUsage(completion.usage),
    };
  },

  readStream(text) {
    const events = readEvents(text);
    if (events.at(-1) !== "[DONE]") return readFailure(events);
    const accumulator = new Accumulator();
    for (const event of events.slice(0, -1)) accumulator.push(chunkBody.parse(JSON.parse(event)));
    return accumulator.end();
  },
};

// ---- The request -----------------------------------------------------------------------------------

function toMessages(entry: HistoryEntry): object[] {
  switch (entry.role) {
    case "system":
      return [{ role: "system", content: entry.text }];
    case "user":
      return [{ role: "user", content: contentOf("chat", entry.text, entry.media) }];
    case "assistant":
      return [
        {
          role: "assistant",
          content: entry.text,
          ...(entry.reasoning !== undefined && { reasoning: entry.reasoning }),
        },
      ];
    case "call": {
      const { id, name, args, reasoning, result } = entry;
      return [
        {
          role: "assistant",
          content: null,
          tool_calls: [{ id, type: "function", function: { name, arguments: args } }],
          ...(reasoning !== undefined && { reasoning }),
        },
        { role: "tool", tool_call_id: id, content: contentOf("chat", result, entry.media) },
      ];
    }
    default:
      return entry satisfies never;
  }
}

function toToolChoice(choice: RequestedToolChoice): unknown {
  const named = (name: string) => ({ type: "function", function: { name } });
  switch (choice.type) {
    case "auto":
    case "none":
    case "required":
      return choice.type;
    case "named":
      return named(choice.name);
    case "allowed":
      return {
        type: "allowed_tools",
        allowed_tools: { mode: choice.mode, tools: choice.names.map((name) => named(name)) },
      };
    default:
      return choice satisfies never;
  }
}

// ---- The answer ------------------------------------------------------------------------------------

const errorMember = z.object({ message: z.string() });

const logprob = z.object({
  token: z.string(),
  bytes: z.array(z.number()).nullable(),
  logprob: z.number(),
});

const usageBody = z.object({
  prompt_tokens: z.number(),
  completion_tokens: z.number(),
  total_tokens: z.number(),
  completion_tokens_details: z.object({ reasoning_tokens: z.number() }),
});

const toolCall = z.object({
  id: z.string(),
  function: z.object({ name: z.string(), arguments: z.string() }),
});

const logprobs = z.object({ content: z.array(logprob).nullable() }).nullish();

const completionBody = z.union([
  z.object({
    choices: z.array(
      z.object({
        message: z.object({
          content: z.string().nullable(),
          reasoning: z.string().nullish(),
          tool_calls: z.array(toolCall).optional(),
        }),
        finish_reason: z.string(),
        native_finish_reason: z.string().nullable(),
        error: errorMember.optional(),
        logprobs,
      }),
    ),
    usage: usageBody,
  }),
  z.object({ error: errorMember }),
]);

const chunkBody = z.object({
  error: errorMember.optional(),
  usage: usageBody.optional(),
  choices: z.array(
    z.object({
      index: z.number(),
      delta: z.object({
        role: z.string().optional(),
        content: z.string().optional(),
        reasoning: z.string().optional(),
        tool_calls: z
          .array(
            z.object({
              index: z.number(),
              id: z.string().optional(),
              function: z.object({ name: z.string().optional(), arguments: z.string().optional() }),
            }),
          )
          .optional(),
      }),
      finish_reason: z.string().nullable(),
      native_finish_reason: z.string().nullable(),
      logprobs,
    }),
  ),
});

type Chunk = z.infer<typeof chunkBody>;

function toCall({
  id,
  function: { name, arguments: args },
}: z.infer<typeof toolCall>): ObservedCall {
  return { id, name, args };
}

function toLogprob(each: z.infer<typeof logprob>): ObservedLogprob {
  return { token: each.token, bytes: each.bytes, logprob: each.logprob };
}

function toFinish(reason: string): string {
  return reason === "tool_calls" ? "tool-calls" : reason;
}

function toUsage(usage: z.infer<typeof usageBody>): NonNullable<Observed["usage"]> {
  return {
    prompt: usage.prompt_tokens,
    completion: usage.completion_tokens,
    total: usage.total_tokens,
    reasoning: usage.completion_tokens_details.reasoning_tokens,
  };
}

/** A stream that broke off ends with an error event that is not a chunk. */
function readFailure(events: readonly string[]): Observed {
  const last: unknown = JSON.parse(events.at(-1) ?? "null");
  const failure = z.object({ error: errorMember }).safeParse(last);
  if (!failure.success) throw new StreamError("a stream ends with [DONE] or an error", last);
  return { choices: [], usage: undefined, error: failure.data.error.message };
}

interface OpenChoice {
  reasoning: string;
  content: string;
  calls: { id: string; name: string; args: string }[];
  finish: string | undefined;
  nativeReason: string | null;
  error: string | undefined;
  logprobs: ObservedLogprob[] | undefined;
  hasRole: boolean;
}

/** Accumulates chunks as clients do, and checks everything. */
class Accumulator {
  readonly #choices: OpenChoice[] = [];
  #usage: Observed["usage"];

  push(chunk: Chunk): void {
    if (this.#usage !== undefined) throw new StreamError("usage comes last", chunk);
    if (chunk.usage !== undefined) {
      this.#usage = toUsage(chunk.usage);
      return;
    }
    const [choice] = chunk.choices;
    if (choice === undefined || chunk.choices.length > 1) {
      throw new StreamError("a chunk has one choice", chunk);
    }
    const open = (this.#choices[choice.index] ??= {
      reasoning: "",
      content: "",
      calls: [],
      finish: undefined,
      nativeReason: null,
      error: undefined,
      logprobs: undefined,
      hasRole: false,
    });
    this.#add(open, choice, chunk);
  }

  #add(open: OpenChoice, choice: Chunk["choices"][number], chunk: Chunk): void {
    const { delta } = choice;
    if (open.finish !== undefined) throw new StreamError("nothing follows the finish", chunk);
    if ((delta.role === undefined) !== open.hasRole) {
      throw new StreamError("the role comes once, in the first chunk", chunk);
    }
    open.hasRole = true;
    open.reasoning += delta.reasoning ?? "";
    open.content += delta.content ?? "";
    for (const { index, id, function: part } of delta.tool_calls ?? []) {
      const call = open.calls[index];
      if (call === undefined) {
        if (index !== open.calls.length || id === undefined || part.name === undefined) {
          throw new StreamError("a call begins with its id and name", chunk);
        }
        open.calls.push({ id, name: part.name, args: part.arguments ?? "" });
      } else {
        if (index !== open.calls.length - 1 || id !== undefined || part.name !== undefined) {
          throw new StreamError("id and name of a call come once", chunk);
        }
        call.args += part.arguments ?? "";
      }
    }
    if (choice.logprobs?.content) {
      (open.logprobs ??= []).push(...choice.logprobs.content.map(toLogprob));
    }
    if (choice.finish_reason === null) return;
    open.finish = toFinish(choice.finish_reason);
    open.nativeReason = choice.native_finish_reason;
    open.error = chunk.error?.message;
  }

  end(): Observed {
    const choices = this.#choices.map(({ hasRole, finish, error, logprobs: given, ...open }) => {
      if (!hasRole) throw new StreamError("every choice has a role");
      if (finish === undefined) throw new StreamError("every choice has a finish reason");
      return {
        ...open,
        finish,
        ...(error !== undefined && { error }),
        ...(given && { logprobs: given }),
      } satisfies ObservedChoice;
    });
    if (this.#usage === undefined) throw new StreamError("a stream that is complete has usage");
    return { choices, usage: this.#usage };
  }
}
