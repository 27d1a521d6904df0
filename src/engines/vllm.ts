/**
 * vLLM: ids in, ids out.
 *
 * `/v1/completions` on every version; `/inference/v1/generate`, which knows no text at all, where it was
 * switched on and the probe found it (it needs a server flag since autumn 2026).
 */
import { createCompletionReader } from "./completion-reader.ts";
import { EngineError } from "./engine-error.ts";
import type { Capabilities, CompletionRequest, Engine, EngineProbe } from "./engine.ts";
import { expectModel, probeModels } from "./models-probe.ts";
import { probeTokens } from "./probe.ts";
import { createCallNames, toJsonBody, toLogitBias, toStopIds } from "./request-body.ts";
import { describe } from "./describe.ts";
import { connectServer, type Server, type ServerOptions } from "./server.ts";

export interface VllmOptions extends ServerOptions {
  /** Use `/inference/v1/generate` when the server has it. Off by default: it is still moving. */
  readonly tokenEndpoint?: boolean;
}

export const VLLM_CAPABILITIES: Capabilities = {
  idsIn: true,
  idsOut: "exact",
  stopIdVisible: true,
  stopIds: true,
  constraints: ["json-schema", "json-object", "choice", "structural-tag"],
  logprobs: true,
  sampling: [
    "temperature",
    "topP",
    "topK",
    "minP",
    "frequencyPenalty",
    "presencePenalty",
    "repetitionPenalty",
    "seed",
    "logitBias",
  ],
};

export function createVllmEngine(options: VllmOptions): Engine {
  const server = connectServer("vllm", options);
  const nameCall = createCallNames();
  let capabilities = VLLM_CAPABILITIES;
  let hasTokenEndpoint = false;

  const engine: Engine = {
    name: "vllm",
    get capabilities() {
      return capabilities;
    },
    probe: async (signal) => {
      const offer = await probeModels(server, "/v1/models", options.model, signal);
      if (offer === undefined) throw notVllm(server);
      expectModel(server, options.model, offer.models);
      if (options.tokenEndpoint === true) {
        hasTokenEndpoint = await findTokenEndpoint(server, options, signal);
      }
      capabilities = { ...VLLM_CAPABILITIES, ...(await probeTokens(engine, signal)) };
      return {
        description: await describe(server, "vllm", "/version", signal),
        ...offer,
        capabilities,
      } satisfies EngineProbe;
    },
    check: (signal) => server.check("/health", signal),
    complete: (request, signal) => {
      const reader = createCompletionReader(server, request.topLogprobs);
      // Log probabilities come in another form there.
      return hasTokenEndpoint && request.topLogprobs === undefined
        ? server.complete(
            {
              path: "/inference/v1/generate",
              body: toGenerateBody(request, nameCall(request), options),
              reader,
            },
            signal,
          )
        : server.complete(
            {
              path: "/v1/completions",
              body: toCompletionBody(request, nameCall(request), options),
              reader,
            },
            signal,
          );
    },
  };
  return engine;
}

function toCompletionBody(
  request: CompletionRequest,
  callName: string,
  options: VllmOptions,
): string {
  const { topLogprobs } = request;
  return toJsonBody(
    {
      prompt: `[${request.prompt.idsJson()}]`,
      structured_outputs: toStructuredOutputs(request),
    },
    {
      model: options.model,
      stream: true,
      stream_options: { include_usage: true },
      ...toSampling(request),
      return_token_ids: true,
      // For servers that do not know `return_token_ids` yet: their text must show the control tokens,
      // also the one that stopped it.
      skip_special_tokens: false,
      spaces_between_special_tokens: false,
      include_stop_str_in_output: true,
      ...(topLogprobs !== undefined && {
        logprobs: topLogprobs,
        return_tokens_as_token_ids: true,
      }),
      cache_salt: toCacheSalt(request),
      request_id: callName,
    },
    options.extraBody,
  );
}

function toGenerateBody(
  request: CompletionRequest,
  callName: string,
  options: VllmOptions,
): string {
  const sampling = toJsonBody(
    { structured_outputs: toStructuredOutputs(request) },
    toSampling(request),
  );
  return toJsonBody(
    { token_ids: `[${request.prompt.idsJson()}]`, sampling_params: sampling },
    {
      model: options.model,
      stream: true,
      stream_options: { include_usage: true },
      cache_salt: toCacheSalt(request),
      request_id: callName,
    },
    options.extraBody,
  );
}

function toSampling(request: CompletionRequest): Record<string, unknown> {
  const { sampling } = request;
  return {
    max_tokens: request.maxTokens,
    temperature: sampling.temperature,
    top_p: sampling.topP,
    // 0 was refused for a time; -1 has always meant off.
    top_k: sampling.topK === 0 ? -1 : sampling.topK,
    min_p: sampling.minP,
    frequency_penalty: sampling.frequencyPenalty,
    presence_penalty: sampling.presencePenalty,
    repetition_penalty: sampling.repetitionPenalty,
    seed: sampling.seed,
    logit_bias: toLogitBias(request),
    stop_token_ids: toStopIds(request),
  };
}

/** An empty salt is refused. */
function toCacheSalt({ cacheSalt }: CompletionRequest): string | undefined {
  return cacheSalt === "" ? undefined : cacheSalt;
}

/** Servers before 0.11 ignore it, as they ignore every field they do not know: the result must be validated. */
function toStructuredOutputs({ constraint }: CompletionRequest): string | undefined {
  switch (constraint?.type) {
    case undefined:
      return undefined;
    case "json-schema":
      return `{"json":${constraint.schema}}`;
    case "json-object":
      return `{"json_object":true}`;
    case "choice":
      return JSON.stringify({ choice: constraint.options });
    case "structural-tag":
      // A string that holds JSON, not JSON.
      return JSON.stringify({ structural_tag: constraint.tag });
    case "token-grammar":
      return undefined;
    default:
      return constraint satisfies never;
  }
}

/** A request without a prompt: 404 where there is no such path, a complaint or anything else where there is. */
async function findTokenEndpoint(
  server: Server,
  { model }: VllmOptions,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    const body = toJsonBody({}, { model, token_ids: [], sampling_params: { max_tokens: 1 } });
    return (await server.post("/inference/v1/generate", body, signal)) !== undefined;
  } catch (error) {
    if (error instanceof EngineError && error.kind === "bad-request") return true;
    throw error;
  }
}

function notVllm(server: Server): EngineError {
  return new EngineError(
    "not-found",
    `${server.name} has no list of models at /v1/models. Is this the URL of a vLLM server?`,
  );
}
