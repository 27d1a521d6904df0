/** The Responses API for the search: converts a case to a request, and both forms of the answer to an observation. */
import { z } from "zod";
import type { Api, Observed } from "./apis.ts";
import type { HistoryEntry, RequestedToolChoice } from "./case.ts";
import { contentOf } from "./media.ts";
import { ANSWER, FUNCTIONS } from "./schemas.ts";
import { readEvents, StreamError } from "../../../test/helpers/replies.ts";

export const responses: Api = {
  path: "/v1/responses",

  toBody({ demands, history }, stream) {
    const { effort } = demands;
    return {
      model: "openai/gpt-oss-20b",
      input: history.flatMap((entry, index) => toItems(entry, index)),
      stream,
      store: false,
      ...(demands.tools.length > 0 && {
        tools: demands.tools.map(({ name, strict }) => ({
          type: "function",
          name,
          parameters: FUNCTIONS[name],
          strict,
        })),
      }),
      tool_choice: toToolChoice(demands.toolChoice),
      parallel_tool_calls: demands.parallelToolCalls,
      ...(demands.format === "json-object" && { text: { format: { type: "json_object" } } }),
      ...(demands.format === "json-schema" && {
        text: { format: { type: "json_schema", name: "answer", schema: ANSWER, strict: true } },
      }),
      ...(demands.maxTokens !== undefined && { max_output_tokens: demands.maxTokens }),
      ...(effort !== undefined && { reasoning: { effort } }),
      ...(demands.topLogprobs !== undefined && {
        include: ["message.output_text.logprobs"],
        top_logprobs: demands.topLogprobs,
      }),
    };
  },

  toFollowUp(given, answer, keepsReasoning) {
    const { output } = z
      .object({ output: z.array(z.looseObject({ type: z.string() })) })
      .parse(answer);
    const body = { input: [], ...responses.toBody(given, false) };
    return {
      ...body,
      input: [
        ...body.input,
        ...output.filter(({ type }) => keepsReasoning || type !== "reasoning"),
        ...output
          .filter(({ type }) => type === "function_call")
          .map((call) => ({
            type: "function_call_output",
            call_id: call["call_id"],
            output: "done",
          })),
      ],
    };
  },

  readPlain(body) {
    const failure = failureBody.safeParse(body);
    if (failure.success) {
      return { choices: [], usage: undefined, error: failure.data.error.message };
    }
    return toObserved(responseBody.parse(body));
  },

  readStream(text) {
    const accumulator = new Accumulator();
    for (const event of readEvents(text)) {
      if (event !== "[DONE]") accumulator.push(eventBody.parse(JSON.parse(event)));
    }
    return accumulator.end();
  },
};

// ---- The request -----------------------------------------------------------------------------------

function toItems(entry: HistoryEntry, index: number): object[] {
  const reasoning = (text: string | undefined): object[] =>
    text === undefined
      ? []
      : [
          {
            type: "reasoning",
            id: `rs_${index}`,
            summary: [],
            content: [{ type: "reasoning_text", text }],
          },
        ];
  switch (entry.role) {
    case "system":
      return [{ type: "message", role: "system", content: entry.text }];
    case "user": {
      const content = contentOf("responses", entry.text, entry.media);
      return [{ type: "message", role: "user", content }];
    }
    case "assistant":
      return [
        ...reasoning(entry.reasoning),
        {
          type: "message",
          role: "assistant",
          content: [{ type: "output_text", text: entry.text }],
        },
      ];
    case "call": {
      const { id, name, args, result } = entry;
      return [
        ...reasoning(entry.reasoning),
        { type: "function_call", call_id: id, name, arguments: args },
        {
          type: "function_call_output",
          call_id: id,
          output: contentOf("responses", result, entry.media),
        },
      ];
    }
    default:
      return entry satisfies never;
  }
}

function toToolChoice(choice: RequestedToolChoice): unknown {
  switch (choice.type) {
    case "auto":
    case "none":
    case "required":
      return choice.type;
    case "named":
      return { type: "function", name: choice.name };
    case "allowed":
      return {
        type: "allowed_tools",
        mode: choice.mode,
        tools: choice.names.map((name) => ({ type: "function", name })),
      };
    default:
      return choice satisfies never;
  }
}

// ---- The answer ------------------------------------------------------------------------------------

const failureBody = z.object({
  error: z.object({ message: z.string() }),
  output: z.undefined().optional(),
});

const logprob = z.object({
  token: z.string(),
  bytes: z.array(z.number()),
  logprob: z.number(),
});

const item = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("reasoning"),
    id: z.string(),
    status: z.string(),
    content: z.array(z.object({ text: z.string() })),
  }),
  z.object({
    type: z.literal("message"),
    id: z.string(),
    status: z.string(),
    phase: z.string(),
    content: z.array(z.object({ text: z.string(), logprobs: z.array(logprob) })),
  }),
  z.object({
    type: z.literal("function_call"),
    id: z.string(),
    status: z.string(),
    call_id: z.string(),
    name: z.string(),
    arguments: z.string(),
  }),
]);
type Item = z.infer<typeof item>;

const responseBody = z.object({
  status: z.string(),
  error: z.object({ message: z.string() }).nullable(),
  output: z.array(item),
  usage: z
    .object({
      input_tokens: z.number(),
      output_tokens: z.number(),
      total_tokens: z.number(),
      output_tokens_details: z.object({ reasoning_tokens: z.number() }),
    })
    .nullable(),
});
type Response = z.infer<typeof responseBody>;

const eventBody = z.object({
  type: z.string(),
  sequence_number: z.number(),
  response: responseBody.optional(),
  item: item.optional(),
  item_id: z.string().optional(),
  output_index: z.number().optional(),
  delta: z.string().optional(),
  text: z.string().optional(),
  arguments: z.string().optional(),
});
type Event = z.infer<typeof eventBody>;

function textOf(each: Item): string {
  return each.type === "function_call"
    ? each.arguments
    : each.content.map(({ text }) => text).join("");
}

function toObserved({ status, error, output, usage }: Response): Observed {
  const texts = (type: "reasoning" | "message") =>
    output
      .filter((each) => each.type === type)
      .map((each) => textOf(each))
      .filter((text) => text !== "");
  const calls = output.flatMap((each) =>
    each.type === "function_call"
      ? [{ id: each.call_id, name: each.name, args: each.arguments }]
      : [],
  );
  const logprobs = output.flatMap((each) =>
    each.type === "message" ? each.content.flatMap((part) => part.logprobs) : [],
  );
  return {
    choices: [
      {
        reasoning: texts("reasoning").join("\n\n"),
        content: texts("message").join("\n\n"),
        calls,
        finish: toFinish(status, calls.length),
        order: output.map((each) =>
          each.type === "message" ? `${each.type} ${each.phase}` : each.type,
        ),
        ...(error && { error: error.message }),
        ...(logprobs.length > 0 && { logprobs }),
      },
    ],
    usage: usage
      ? {
          prompt: usage.input_tokens,
          completion: usage.output_tokens,
          total: usage.total_tokens,
          reasoning: usage.output_tokens_details.reasoning_tokens,
        }
      : undefined,
  };
}

function toFinish(status: string, calls: number): string {
  switch (status) {
    case "incomplete":
      return "length";
    case "failed":
      return "error";
    case "completed":
      return calls > 0 ? "tool-calls" : "stop";
    default:
      throw new StreamError(`a response ends with the status ${status}`);
  }
}

/** Follows the events of a response and throws at the first invalid one. */
class Accumulator {
  #sequence = 0;
  #isRunning = false;
  #final: Response | undefined;
  #open:
    | { readonly item: Item; readonly index: number; text: string; isTextDone: boolean }
    | undefined;
  readonly #done: Item[] = [];

  push(event: Event): void {
    check(event.sequence_number === this.#sequence, "sequence numbers rise by one", event);
    check(
      (this.#sequence === 0) === (event.type === "response.created"),
      "created is first",
      event,
    );
    this.#sequence++;
    check(this.#final === undefined, "nothing follows the terminal event", event);
    switch (event.type) {
      case "response.created":
      case "error":
        return;
      case "response.in_progress":
        check(!this.#isRunning, "in_progress comes once", event);
        this.#isRunning = true;
        return;
      case "response.completed":
      case "response.incomplete":
      case "response.failed":
        return this.#finish(event);
      case "response.output_item.added":
        return this.#add(event);
      case "response.output_item.done":
        return this.#close(event);
      default:
        return this.#within(event);
    }
  }

  #add(event: Event): void {
    check(this.#isRunning, "items come after in_progress", event);
    check(this.#open === undefined, "items come one after the other", event);
    const { item: added, output_index: index } = event;
    check(index === this.#done.length, "items are appended", event);
    if (added === undefined || index === undefined)
      throw new StreamError("added has an item", event);
    check(textOf(added) === "", "an item begins empty", event);
    this.#open = { item: added, index, text: "", isTextDone: false };
  }

  #within(event: Event): void {
    const open = this.#open;
    if (open === undefined) throw new StreamError("an event is about the open item", event);
    check(event.item_id === open.item.id, "an event is about the open item", event);
    check(event.output_index === open.index, "an event is about the open item", event);
    if (event.type.endsWith(".delta")) {
      check(!open.isTextDone, "no delta follows the whole text", event);
      check(event.delta !== "", "a delta says something", event);
      open.text += event.delta ?? "";
    } else if (/(?:text|arguments|reasoning)\.done$/.test(event.type)) {
      check(!open.isTextDone, "a text is over once", event);
      check((event.text ?? event.arguments) === open.text, "the whole text is its deltas", event);
      open.isTextDone = true;
    }
  }

  #close(event: Event): void {
    const { item: closed } = event;
    const open = this.#open;
    if (open === undefined || closed === undefined)
      throw new StreamError("an open item closes", event);
    check(
      closed.id === open.item.id && closed.type === open.item.type,
      "an open item closes",
      event,
    );
    check(textOf(closed) === open.text, "a closed item has all of its text", event);
    if (closed.type === "function_call" && open.item.type === "function_call") {
      check(closed.call_id === open.item.call_id, "call ids stay", event);
      check(closed.name === open.item.name, "names stay", event);
    }
    this.#done.push(closed);
    this.#open = undefined;
  }

  #finish(event: Event): void {
    const { response } = event;
    if (response === undefined) throw new StreamError("a terminal event has a response", event);
    check(event.type === `response.${response.status}`, "type and status agree", event);
    const isFailed = response.status === "failed";
    check(isFailed || this.#open === undefined, "every item is closed", event);
    check(
      JSON.stringify(response.output) === JSON.stringify(this.#done),
      "the output is what was closed",
      event,
    );
    this.#final = response;
  }

  end(): Observed {
    if (this.#final === undefined) throw new StreamError("a stream ends with a terminal event");
    return toObserved(this.#final);
  }
}

function check(holds: boolean, rule: string, event: Event): void {
  if (!holds) throw new StreamError(rule, event);
}
