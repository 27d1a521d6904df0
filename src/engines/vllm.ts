/**
 * vLLM: ids in, ids out.
 *
 * `/v1/completions` on every version; `/inference/v1/generate`, which exchanges ids only, if it is enabled and the probe found it
 * (it needs a server flag since autumn 2026).
 */
import { createCompletionReader } from "./completion-reader.ts";
import {
  type ConstraintMap,
  constraintTypes,
  toIdsBody,
  toJsonBody,
  toNativeConstraint,
  toStopIds,
} from "./request-body.ts";
import { EngineError } from "./engine-error.ts";
import type { Capabilities, CompletionRequest, Engine } from "./engine.ts";
import { expectModel } from "./models-probe.ts";
import { PromptEcho } from "./prompt-echo.ts";
import { describe, type Server, type ServerOptions } from "./server.ts";
import { COMMON_SAMPLING, toSamplingFields } from "./sampling.ts";
import { createServerEngine, expectModels } from "./server-engine.ts";
import type { RequestBody } from "./transport.ts";

export interface VllmOptions extends ServerOptions {
  /** Use `/inference/v1/generate` if the server has it. Off by default: its format still changes. */
  readonly tokenEndpoint?: boolean;
}

/**
 * The field `structured_outputs`, as JSON. Servers before 0.11 ignore it, like every unknown field: the result must be validated.
 */
const CONSTRAINTS: ConstraintMap<string> = {
  "json-schema": ({ schema }) => `{"json":${schema}}`,
  "json-object": () => '{"json_object":true}',
  choice: ({ options }) => JSON.stringify({ choice: options }),
  // The value is a string that contains JSON.
  "structural-tag": ({ tag }) => JSON.stringify({ structural_tag: tag }),
  "token-grammar": null,
  grammar: ({ grammar }) => JSON.stringify({ grammar }),
  // The server itself detects the notation.
  lark: ({ grammar }) => JSON.stringify({ grammar }),
  regex: ({ pattern }) => JSON.stringify({ regex: pattern }),
};

export const VLLM_CAPABILITIES: Capabilities = {
  idsIn: true,
  idsOut: "exact",
  stopIdVisible: true,
  stopIds: true,
  constraints: constraintTypes(CONSTRAINTS),
  logprobs: true,
  sampling: COMMON_SAMPLING,
};

export function createVllmEngine(options: VllmOptions): Engine {
  let hasTokenEndpoint = false;
  return createServerEngine(
    {
      name: "vllm",
      capabilities: VLLM_CAPABILITIES,
      healthPath: "/health",
      start: "vllm serve openai/gpt-oss-20b",
      async probe(server, signal) {
        const offer = await expectModels(server, "a vLLM server", options.model, signal);
        expectModel(server, options.model, offer.models);
        if (options.tokenEndpoint === true) {
          hasTokenEndpoint = await findTokenEndpoint(server, options, signal);
        }
        return { description: await describe(server, "vllm", "/version", signal), ...offer };
      },
      toCall(request, server, callName) {
        const reader = createCompletionReader(server, {
          topLogprobs: request.topLogprobs,
          echo: new PromptEcho(server.name, request.prompt, callName),
        });
        // The other endpoint reports log probabilities in another format.
        return hasTokenEndpoint && request.topLogprobs === undefined
          ? { path: TOKEN_ENDPOINT, body: toGenerateBody(request, callName, options), reader }
          : { path: "/v1/completions", body: toCompletionBody(request, callName, options), reader };
      },
    },
    options,
  );
}

const TOKEN_ENDPOINT = "/inference/v1/generate";

function toCompletionBody(
  request: CompletionRequest,
  callName: string,
  options: VllmOptions,
): RequestBody {
  const { topLogprobs } = request;
  return toIdsBody(
    { member: "prompt", prompt: request.prompt },
    { structured_outputs: toNativeConstraint(CONSTRAINTS, request.constraint) },
    {
      model: options.model,
      stream: true,
      stream_options: { include_usage: true },
      ...toSampling(request),
      return_token_ids: true,
      // For servers that do not know `return_token_ids`: their text must include the control tokens, also the stop token.
      skip_special_tokens: false,
      spaces_between_special_tokens: false,
      include_stop_str_in_output: true,
      ...(topLogprobs !== undefined && {
        logprobs: topLogprobs,
        return_tokens_as_token_ids: true,
      }),
      // The server refuses an empty salt.
      cache_salt: request.cacheSalt || undefined,
      request_id: callName,
    },
    options.extraBody,
  );
}

function toGenerateBody(
  request: CompletionRequest,
  callName: string,
  options: VllmOptions,
): RequestBody {
  const sampling = toJsonBody(
    { structured_outputs: toNativeConstraint(CONSTRAINTS, request.constraint) },
    toSampling(request),
  );
  return toIdsBody(
    { member: "token_ids", prompt: request.prompt },
    { sampling_params: sampling },
    {
      model: options.model,
      stream: true,
      stream_options: { include_usage: true },
      // The server refuses an empty salt.
      cache_salt: request.cacheSalt || undefined,
      request_id: callName,
    },
    options.extraBody,
  );
}

function toSampling(request: CompletionRequest): Record<string, unknown> {
  const { sampling } = request;
  return {
    max_tokens: request.maxTokens,
    ...toSamplingFields(sampling, COMMON_SAMPLING),
    // Some versions refuse 0; all of them accept -1 as off.
    top_k: sampling.topK === 0 ? -1 : sampling.topK,
    stop_token_ids: toStopIds(request),
  };
}

/** Sends an empty prompt: a server without the endpoint answers 404, others any other status, usually 400. */
async function findTokenEndpoint(
  server: Server,
  { model }: VllmOptions,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    const body = toJsonBody({}, { model, token_ids: [], sampling_params: { max_tokens: 1 } });
    return (await server.post(TOKEN_ENDPOINT, body, signal)) !== undefined;
  } catch (error) {
    if (error instanceof EngineError && error.kind === "bad-request") return true;
    throw error;
  }
}
