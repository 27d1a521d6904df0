/**
 * TensorRT-LLM's `trtllm-serve`: ids in, ids out, on a `/v1/completions` like vLLM's that refuses every unknown field.
 */
import { createCompletionReader } from "./completion-reader.ts";
import {
  type ConstraintMap,
  constraintTypes,
  toChoiceGrammar,
  toIdsBody,
  toNativeConstraint,
  toStopIds,
} from "./request-body.ts";
import { describe, type ServerOptions } from "./server.ts";
import type { Capabilities, CompletionRequest, Engine } from "./engine.ts";
import { expectModel } from "./models-probe.ts";
import { PromptEcho } from "./prompt-echo.ts";
import { COMMON_SAMPLING, toSamplingFields } from "./sampling.ts";
import { createServerEngine, expectModels } from "./server-engine.ts";
import type { RequestBody } from "./transport.ts";

/** The field `response_format`, as JSON. */
const CONSTRAINTS: ConstraintMap<string> = {
  "json-schema": ({ schema }) => `{"type":"json","schema":${schema}}`,
  "json-object": () => '{"type":"json_object"}',
  choice: ({ options }) => JSON.stringify({ type: "ebnf", ebnf: toChoiceGrammar(options) }),
  "structural-tag": null,
  "token-grammar": null,
  grammar: ({ grammar }) => JSON.stringify({ type: "ebnf", ebnf: grammar }),
  lark: null,
  regex: ({ pattern }) => JSON.stringify({ type: "regex", regex: pattern }),
};

export const TRTLLM_CAPABILITIES: Capabilities = {
  idsIn: true,
  idsOut: "exact",
  stopIdVisible: true,
  stopIds: true,
  constraints: constraintTypes(CONSTRAINTS),
  // The server reports log probabilities by the text of tokens, from which ids cannot be recovered.
  logprobs: false,
  sampling: COMMON_SAMPLING,
};

export function createTrtllmEngine(options: ServerOptions): Engine {
  return createServerEngine(
    {
      name: "trtllm",
      capabilities: TRTLLM_CAPABILITIES,
      healthPath: "/health",
      start: "trtllm-serve openai/gpt-oss-20b",
      async probe(server, signal) {
        const offer = await expectModels(server, "a trtllm-serve", options.model, signal);
        expectModel(server, options.model, offer.models);
        return { description: await describe(server, "trtllm", "/version", signal), ...offer };
      },
      toCall: (request, server, callName) => ({
        path: "/v1/completions",
        body: toBody(request, options),
        reader: createCompletionReader(server, {
          echo: new PromptEcho(server.name, request.prompt, callName),
        }),
      }),
    },
    options,
  );
}

function toBody(request: CompletionRequest, options: ServerOptions): RequestBody {
  return toIdsBody(
    { member: "prompt", prompt: request.prompt },
    { response_format: toNativeConstraint(CONSTRAINTS, request.constraint) },
    {
      model: options.model,
      stream: true,
      // Some versions default to true for both fields.
      stream_options: { include_usage: true, continuous_usage_stats: false },
      max_tokens: request.maxTokens,
      ...toSamplingFields(request.sampling, COMMON_SAMPLING),
      stop_token_ids: toStopIds(request),
      include_stop_str_in_output: true,
      add_special_tokens: false,
      skip_special_tokens: false,
      spaces_between_special_tokens: false,
      // The server sends either text or ids.
      detokenize: false,
    },
    options.extraBody,
  );
}
