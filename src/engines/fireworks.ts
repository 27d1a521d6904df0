/**
 * Fireworks, hosted: ids in, ids out, on its own variant of `/v1/completions`. Based on its documentation and its SDK's types;
 * the probe detects whether control tokens are in the output.
 */
import { createCompletionReader } from "./completion-reader.ts";
import {
  type ConstraintMap,
  constraintTypes,
  toChoiceGrammar,
  toIdsBody,
  toNativeConstraint,
} from "./request-body.ts";
import type { Capabilities, CompletionRequest, Engine } from "./engine.ts";
import { probeModels } from "./models-probe.ts";
import { COMMON_SAMPLING, toSamplingFields } from "./sampling.ts";
import { createServerEngine } from "./server-engine.ts";
import type { ServerOptions } from "./server.ts";
import type { RequestBody } from "./transport.ts";

/** The field `response_format`, as JSON. */
const CONSTRAINTS: ConstraintMap<string> = {
  "json-schema": ({ schema }) =>
    `{"type":"json_schema","json_schema":{"name":"answer","schema":${schema}}}`,
  "json-object": () => '{"type":"json_object"}',
  choice: ({ options }) => JSON.stringify({ type: "grammar", grammar: toChoiceGrammar(options) }),
  "structural-tag": null,
  "token-grammar": null,
  grammar: ({ grammar }) => JSON.stringify({ type: "grammar", grammar }),
  lark: null,
  regex: null,
};

export const FIREWORKS_CAPABILITIES: Capabilities = {
  idsIn: true,
  idsOut: "exact",
  stopIdVisible: true,
  stopIds: false,
  constraints: constraintTypes(CONSTRAINTS),
  logprobs: false,
  sampling: COMMON_SAMPLING,
};

export function createFireworksEngine(options: ServerOptions): Engine {
  return createServerEngine(
    {
      name: "fireworks",
      capabilities: FIREWORKS_CAPABILITIES,
      // Lists the account's own models only; others are served as well, so the name is not checked.
      probe: async (server, signal) => ({
        description: "fireworks",
        ...(await probeModels(server, "/v1/models", options.model, signal)),
      }),
      toCall: (request, server) => ({
        path: "/v1/completions",
        body: toBody(request, options),
        reader: createCompletionReader(server),
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
      max_tokens: request.maxTokens,
      ...toSamplingFields(request.sampling, COMMON_SAMPLING),
      return_token_ids: true,
      // By default, Fireworks silently shortens the answer if the prompt is too long.
      context_length_exceeded_behavior: "error",
      prompt_cache_key: request.affinity,
      prompt_cache_isolation_key: request.cacheSalt || undefined,
    },
    options.extraBody,
  );
}
