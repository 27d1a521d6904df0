/**
 * The wire formats of two servers: vLLM's `/v1/completions` with `token_ids`, and llama-server's `/completion`, whose
 * frames contain only the newest token's id.
 */
import { z } from "zod";
import type { CompletionRequest, EngineError, EngineEvent } from "../../src/index.ts";
import {
  createDecoder,
  isSpecial,
  SPECIAL_TOKENS,
  specialTokenName,
  type TokenId,
} from "../../src/tokenizer/index.ts";
import { NEUTRAL_SAMPLING, spelledPrompt } from "./spelled.ts";
import { structuredOutputs, toVllmLogprobs } from "./vllm-server.ts";

type Constraint = NonNullable<CompletionRequest["constraint"]>;

export const SERVED_MODEL = "openai/gpt-oss-20b";

/** Parses requests and writes responses, both in JSON. */
export interface Wire {
  readRequest(body: unknown): CompletionRequest;
  createWriter(request: CompletionRequest, body: unknown): FrameWriter;
  writeError(error: EngineError): unknown;
}

export interface FrameWriter {
  tokens(tokens: Extract<EngineEvent, { type: "ids" }>): unknown[];
  finish(reason: "stop" | "length", usage: { prompt: number; cached: number }): unknown[];
  /** Sent unchanged after the last frame. */
  readonly end: string;
}

const samplingFields = {
  temperature: z.number(),
  top_p: z.number(),
  min_p: z.number(),
  frequency_penalty: z.number(),
  presence_penalty: z.number(),
};

const vllmBody = z.object({
  ...samplingFields,
  prompt: z.array(z.int()),
  max_tokens: z.int(),
  top_k: z.number(),
  repetition_penalty: z.number(),
  seed: z.int().optional(),
  logit_bias: z.record(z.string(), z.number()).default({}),
  stop_token_ids: z.array(z.int()).default([]),
  logprobs: z.int().optional(),
  structured_outputs: structuredOutputs,
});

const vllm: Wire = {
  readRequest(given) {
    const body = vllmBody.parse(given);
    const bias = Object.entries(body.logit_bias).map(([id, value]) => [Number(id), value] as const);
    return toRequest({
      ids: body.prompt,
      maxTokens: body.max_tokens,
      sampling: {
        ...toSampling(body),
        topK: Math.max(body.top_k, 0),
        repetitionPenalty: body.repetition_penalty,
        logitBias: new Map(bias),
        ...(body.seed !== undefined && { seed: body.seed }),
      },
      stopIds: body.stop_token_ids,
      topLogprobs: body.logprobs,
      constraint: body.structured_outputs,
    });
  },

  createWriter() {
    const decoder = createDecoder();
    let completion = 0;
    let last: TokenId | undefined;
    const frame = (choice: object) => ({
      id: "cmpl-1",
      object: "text_completion",
      model: SERVED_MODEL,
      choices: [{ index: 0, logprobs: null, finish_reason: null, stop_reason: null, ...choice }],
    });
    return {
      tokens({ ids, logprobs }) {
        completion += ids.length;
        last = ids.at(-1);
        const text = ids.map((id) => decoder.push(id)).join("");
        return [
          frame({ text, token_ids: ids, ...(logprobs && { logprobs: toVllmLogprobs(logprobs) }) }),
        ];
      },
      finish(reason, { prompt, cached }) {
        // The primary end of the tokenizer is not named.
        const isNamed = reason === "stop" && last !== SPECIAL_TOKENS["<|return|>"];
        return [
          frame({
            text: "",
            token_ids: [],
            finish_reason: reason,
            stop_reason: isNamed ? last : null,
          }),
          {
            ...frame({}),
            choices: [],
            usage: {
              prompt_tokens: prompt,
              completion_tokens: completion,
              total_tokens: prompt + completion,
              prompt_tokens_details: { cached_tokens: cached },
            },
          },
        ];
      },
      end: "data: [DONE]\n\n",
    };
  },

  writeError: ({ message }) => ({
    error: { message, type: "BadRequestError", param: "input_tokens", code: 400 },
  }),
};

const llamaBody = z.object({
  ...samplingFields,
  prompt: z.array(z.int()),
  n_predict: z.int(),
  top_k: z.number(),
  repeat_penalty: z.number(),
  seed: z.int(),
  logit_bias: z.array(z.tuple([z.int(), z.union([z.number(), z.literal(false)])])).default([]),
  json_schema: z.unknown().optional(),
  grammar: z.string().optional(),
  preserved_tokens: z.array(z.string()).default([]),
});

const llamaCpp: Wire = {
  readRequest(given) {
    const body = llamaBody.parse(given);
    const bias = body.logit_bias.map(
      ([id, value]) => [id, value === false ? -100 : value] as const,
    );
    const options = body.grammar
      ?.match(/"(?:[^"\\]|\\.)*"/g)
      ?.map((each) => z.string().parse(JSON.parse(each)));
    return toRequest({
      ids: body.prompt,
      maxTokens: body.n_predict,
      sampling: {
        ...toSampling(body),
        topK: body.top_k,
        repetitionPenalty: body.repeat_penalty,
        logitBias: new Map(bias),
        ...(body.seed >= 0 && { seed: body.seed }),
      },
      stopIds: [],
      topLogprobs: undefined,
      constraint: firstOf(
        body.json_schema !== undefined && {
          type: "json-schema",
          schema: JSON.stringify(body.json_schema),
        },
        // The gateway's engine sends only one kind of grammar: a choice of texts.
        options !== undefined && { type: "choice", options },
      ),
    });
  },

  createWriter(request, given) {
    const shown = new Set(llamaBody.parse(given).preserved_tokens);
    const decoder = createDecoder();
    const promptTokens = request.prompt.ids.length;
    let predicted = 0;
    const frame = (content: string, tokens: readonly TokenId[]) => ({
      index: 0,
      content,
      tokens,
      stop: false,
      id_slot: -1,
      tokens_predicted: predicted,
      tokens_evaluated: promptTokens,
    });
    return {
      // A frame has only the newest token's id; there is no frame while a character is incomplete.
      tokens: ({ ids }) =>
        ids.flatMap((id) => {
          predicted += 1;
          const name = isSpecial(id) ? (specialTokenName(id) ?? "") : undefined;
          const text = name === undefined ? decoder.push(id) : decoder.end();
          const content = name !== undefined && isVisible(id, name, shown) ? text + name : text;
          return content === "" ? [] : [frame(content, [id])];
        }),
      finish: (reason, { prompt, cached }) => [
        {
          ...frame("", []),
          stop: true,
          model: SERVED_MODEL,
          stop_type: reason === "stop" ? "eos" : "limit",
          stopping_word: "",
          truncated: false,
          timings: { cache_n: cached, prompt_n: prompt - cached, predicted_n: predicted },
        },
      ],
      end: "",
    };
  },

  writeError: ({ message }) => ({
    error: { code: 400, message, type: "exceed_context_size_error" },
  }),
};

const ENDS: ReadonlySet<TokenId> = new Set([
  SPECIAL_TOKENS["<|return|>"],
  SPECIAL_TOKENS["<|call|>"],
  SPECIAL_TOKENS["<|endoftext|>"],
]);

/** Stop tokens are sent if requested, other control tokens always. */
function isVisible(id: TokenId, name: string, shown: ReadonlySet<string>): boolean {
  return !ENDS.has(id) || shown.has(name);
}

function toSampling(
  body: z.infer<z.ZodObject<typeof samplingFields>>,
): CompletionRequest["sampling"] {
  return {
    ...NEUTRAL_SAMPLING,
    temperature: body.temperature,
    topP: body.top_p,
    minP: body.min_p,
    frequencyPenalty: body.frequency_penalty,
    presencePenalty: body.presence_penalty,
  };
}

interface ReadRequest extends Pick<CompletionRequest, "maxTokens" | "sampling" | "stopIds"> {
  readonly ids: readonly TokenId[];
  readonly topLogprobs: number | undefined;
  readonly constraint: Constraint | undefined;
}

function toRequest({ ids, topLogprobs, constraint, ...rest }: ReadRequest): CompletionRequest {
  return {
    ...rest,
    prompt: { ...spelledPrompt(""), ids },
    requestId: "served",
    ...(topLogprobs !== undefined && { topLogprobs }),
    ...(constraint !== undefined && { constraint }),
  };
}

function firstOf(...constraints: (Constraint | false)[]): Constraint | undefined {
  return constraints.find((each) => each !== false);
}

/** Wires by request path. */
export const WIRES: ReadonlyMap<string, Wire> = new Map([
  ["/v1/completions", vllm],
  ["/completion", llamaCpp],
]);
