/**
 * llama-server of llama.cpp, on its own endpoint `/completion`: ids in, control tokens by id, the rest as text.
 *
 * Each event carries the id of its newest token only, so ids are missing for characters that span several tokens.
 * Text is therefore read from `content`, control tokens from `tokens`.
 */
import * as z from "zod";

import { isSpecial, specialTokenName } from "../tokenizer/special-tokens.ts";
import type { CompletionReader } from "./completion-decoder.ts";
import {
  type ConstraintMap,
  constraintTypes,
  END_OF_GENERATION,
  toChoiceGrammar,
  toIdsBody,
  toNativeConstraint,
} from "./request-body.ts";
import { probeModels, readContextLength } from "./models-probe.ts";
import {
  askOptional,
  type CompletionCall,
  type Server,
  type ServerOptions,
  withVersion,
} from "./server.ts";
import { createPushStream, consume } from "../streams/push-stream.ts";
import { EngineError } from "./engine-error.ts";
import type {
  Capabilities,
  CompletionRequest,
  Engine,
  EngineFinish,
  EngineProgress,
  EngineTokens,
  EnginePiece,
} from "./engine.ts";
import { readFrame } from "./frame.ts";
import { PromptEcho } from "./prompt-echo.ts";
import { COMMON_SAMPLING, toSamplingFields } from "./sampling.ts";
import { type CompletionStream, createServerEngine } from "./server-engine.ts";
import { toUsage } from "./read-tokens.ts";
import type { RequestBody } from "./transport.ts";

/** Members of the request body, each value as JSON. The server accepts either a schema or a grammar. */
const CONSTRAINTS: ConstraintMap<Readonly<Record<string, string>>> = {
  "json-schema": ({ schema }) => ({ json_schema: schema }),
  "json-object": () => ({ json_schema: '{"type":"object"}' }),
  choice: ({ options }) => ({ grammar: JSON.stringify(toChoiceGrammar(options)) }),
  "structural-tag": null,
  "token-grammar": ({ grammar }) => ({ grammar: JSON.stringify(grammar) }),
  grammar: ({ grammar }) => ({ grammar: JSON.stringify(grammar) }),
  lark: null,
  regex: null,
};

export const LLAMA_CPP_CAPABILITIES: Capabilities = {
  idsIn: true,
  idsOut: "lossy",
  stopIdVisible: true,
  stopIds: false,
  constraints: constraintTypes(CONSTRAINTS),
  logprobs: false,
  sampling: COMMON_SAMPLING,
};

const props = z.lazy(() =>
  z.object({
    build_info: z.string().nullish(),
    default_generation_settings: z.object({ n_ctx: z.unknown().optional() }).nullish(),
  }),
);

export function createLlamaCppEngine(options: ServerOptions): Engine {
  return createServerEngine(
    {
      name: "llama-cpp",
      capabilities: LLAMA_CPP_CAPABILITIES,
      healthPath: "/health",
      start: "llama-server -hf ggml-org/gpt-oss-20b-GGUF",
      async probe(server, signal) {
        // A server has one model and accepts any name for it, so the name is not checked.
        const offer = await probeModels(server, "/v1/models", options.model, signal);
        const found = props.safeParse(await askOptional(server, "/props", signal));
        if (offer === undefined && !found.success) throw notLlamaCpp(server);
        const build = found.data?.build_info;
        // The context of one slot: with several slots it is smaller than the model's.
        const ofSlot = readContextLength([
          ["n_ctx in /props", found.data?.default_generation_settings?.n_ctx],
        ]);
        return { description: withVersion("llama-cpp", build), ...offer, ...ofSlot };
      },
      toCall: (request, server, callName) => ({
        path: "/completion",
        body: toBody(request, options),
        reader: createLlamaCppReader(server, new PromptEcho(server.name, request.prompt, callName)),
      }),
      send: sendTwice,
    },
    options,
  );
}

/**
 * Since June 2026 the server also runs raw output through its chat parser, and fails the whole request when a token
 * ends inside a multi-byte character. Retrying usually succeeds, and is safe while no token has been delivered.
 */
function sendTwice(
  server: Server,
  toCall: () => CompletionCall,
  signal: AbortSignal,
): CompletionStream {
  const call = () => server.complete(toCall(), signal);
  return createPushStream(async (consumer) => {
    let opened = false;
    let sampled = false;
    try {
      await consume(call(), (event) => {
        if (event.type === "open") opened = true;
        else if (event.type !== "progress") sampled = true;
        return consumer(event);
      });
    } catch (error) {
      const isParserFault =
        error instanceof EngineError &&
        /expected Content-only format/i.test(error.serverMessage ?? "");
      if (!isParserFault || sampled) throw error;
      await consume(call(), (event) => (event.type === "open" && opened) || consumer(event));
    }
  });
}

function toBody(request: CompletionRequest, options: ServerOptions): RequestBody {
  const { sampling } = request;
  return toIdsBody(
    { member: "prompt", prompt: request.prompt },
    toNativeConstraint(CONSTRAINTS, request.constraint) ?? {},
    {
      // Servers with several models read this field, others ignore it.
      model: options.model,
      stream: true,
      cache_prompt: true,
      // Without this field the server is silent until the first token, for minutes with a long prompt.
      return_progress: true,
      return_tokens: true,
      n_predict: request.maxTokens,
      // These values turn off samplers that no API exposes but that the server's start options may have enabled. A new parameter
      // replaces its entry.
      typical_p: 1,
      top_n_sigma: -1,
      dry_multiplier: 0,
      xtc_probability: 0,
      dynatemp_range: 0,
      mirostat: 0,
      ...toSamplingFields(sampling, COMMON_SAMPLING, { repetitionPenalty: "repeat_penalty" }),
      seed: sampling.seed ?? RANDOM_SEED,
      logit_bias: toLogitBias(sampling.logitBias),
      // Without this, the token that ends the completion is omitted from the output.
      preserved_tokens: END_OF_GENERATION.map(specialTokenName),
    },
    options.extraBody,
  );
}

const RANDOM_SEED = -1;

/** `false` bans a token. -100 only lowers its logit, so it could still be sampled. */
function toLogitBias(
  bias: CompletionRequest["sampling"]["logitBias"],
): (readonly [number, number | false])[] | undefined {
  if (bias === undefined) return undefined;
  return Array.from(bias, ([id, value]) => [id, value <= -100 ? false : value] as const);
}

/** Any other value counts as no progress. */
const promptProgress = () =>
  z
    .object({
      total: z.int().positive(),
      cache: z.int().min(0),
      processed: z.int().positive(),
      time_ms: z.number().min(0),
    })
    .or(z.unknown().transform(() => "unreadable" as const));

const llamaFrame = z.lazy(() =>
  z.object({
    content: z.string().nullish(),
    tokens: z.array(z.int()).nullish(),
    stop: z.boolean().nullish(),
    stop_type: z.string().nullish(),
    tokens_predicted: z.number().nullish(),
    tokens_evaluated: z.number().nullish(),
    timings: z.object({ cache_n: z.number().nullish() }).nullish(),
    prompt_progress: z.union([z.null(), promptProgress()]).optional(),
  }),
);

type LlamaFrame = z.infer<typeof llamaFrame>;

function createLlamaCppReader(server: Server, echo: PromptEcho): CompletionReader {
  let pieces: EnginePiece[] = [];
  let counts: number[] = [];
  let counted = 0;
  let given = 0;
  let finish: EngineFinish | undefined;
  let processed = 0;
  let progress: EngineProgress | undefined;

  /** One piece for each event, so that a turn can stop after any token of a read. */
  const pushPiece = (piece: EnginePiece, to: number): void => {
    pieces.push(piece);
    counts.push(to - given);
    given = to;
  };

  const pushText = (text: string, to: number): void => {
    if (text !== "") pushPiece({ text }, to);
  };

  return {
    push(event) {
      const frame = readFrame(event, llamaFrame, server);
      // A progress event of prompt processing: its token id 0 was not sampled.
      if (frame.prompt_progress != null) {
        progress = toProgress(frame.prompt_progress, processed, echo.tokens) ?? progress;
        processed = progress?.processed ?? processed;
        return;
      }
      echo.expectCount(frame.tokens_evaluated);
      const content = frame.content ?? "";
      if (frame.stop === true) finish = toFinish(frame);
      // The count increases by more than 1 after tokens without an event of their own.
      else counted = toCounted(frame, counted);
      const special = frame.tokens?.find(isSpecial);
      if (special === undefined) {
        pushText(content, counted);
      } else {
        // Text before the spelling is the rest of an incomplete character.
        pushText(content.replace(CONTROL_AT_END, ""), Math.max(given, counted - 1));
        pushPiece({ special }, counted);
      }
    },

    drain(): EngineTokens | EngineProgress | undefined {
      if (pieces.length === 0) {
        const latest = progress;
        progress = undefined;
        return latest;
      }
      const tokens: EngineTokens = { type: "pieces", pieces, counts };
      pieces = [];
      counts = [];
      return tokens;
    },

    finish: () => finish,

    // There is no `[DONE]` on this endpoint.
    isDone: () => finish !== undefined,
  };
}

/** Accepts progress only if it approaches the end of the prompt that was sent. */
function toProgress(
  reported: NonNullable<LlamaFrame["prompt_progress"]>,
  before: number,
  promptTokens: number,
): EngineProgress | undefined {
  if (reported === "unreadable") return undefined;
  const { total, cache: cached, processed, time_ms: elapsedMs } = reported;
  const isPlausible = processed > before && processed <= total && total <= promptTokens;
  return isPlausible ? { type: "progress", total, cached, processed, elapsedMs } : undefined;
}

/** Reads the count of tokens, or counts the event's own tokens if that count is implausible. */
function toCounted({ tokens_predicted: told, tokens }: LlamaFrame, before: number): number {
  const isCount = Number.isSafeInteger(told) && told != null && told >= before;
  return isCount ? told : before + (tokens?.length ?? 0);
}

const CONTROL_AT_END = /<\|[a-z0-9_]+\|>$/;

/** Maps the reason. `limit` includes an exhausted context. `none` is an aborted completion. */
function toFinish(frame: LlamaFrame): EngineFinish {
  const native = frame.stop_type ?? null;
  const { tokens_evaluated: prompt, tokens_predicted: completion, timings } = frame;
  const usage = toUsage(prompt, timings?.cache_n, completion);
  const isLength = native === "limit" || native === "none";
  return { type: "finish", reason: isLength ? "length" : "stop", nativeReason: native, usage };
}

function notLlamaCpp(server: Server): EngineError {
  return new EngineError(
    "not-found",
    `${server.name} answers neither /v1/models nor /props. Is this the URL of a llama-server?`,
  );
}
