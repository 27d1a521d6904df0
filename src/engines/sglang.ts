/** SGLang, on its own endpoint `/generate`: ids in, ids out. */
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
import { PromptEcho } from "./prompt-echo.ts";
import { COMMON_SAMPLING, toSamplingFields } from "./sampling.ts";
import { createServerEngine, expectModels } from "./server-engine.ts";
import type { RequestBody } from "./transport.ts";
import { SglangReader } from "./sglang-reader.ts";

/** Sampling parameters. Schemas are strings here, so that key order and numbers stay as they are. */
const CONSTRAINTS: ConstraintMap<Readonly<Record<string, string>>> = {
  "json-schema": ({ schema }) => ({ json_schema: schema }),
  "json-object": () => ({ json_schema: '{"type":"object"}' }),
  choice: ({ options }) => ({ ebnf: toChoiceGrammar(options) }),
  "structural-tag": ({ tag }) => ({ structural_tag: tag }),
  "token-grammar": null,
  grammar: ({ grammar }) => ({ ebnf: grammar }),
  lark: null,
  regex: ({ pattern }) => ({ regex: pattern }),
};

export const SGLANG_CAPABILITIES: Capabilities = {
  idsIn: true,
  idsOut: "exact",
  stopIdVisible: true,
  stopIds: true,
  constraints: constraintTypes(CONSTRAINTS),
  logprobs: true,
  sampling: COMMON_SAMPLING,
};

export function createSglangEngine(options: ServerOptions): Engine {
  return createServerEngine(
    {
      name: "sglang",
      capabilities: SGLANG_CAPABILITIES,
      healthPath: "/health",
      start: "python -m sglang.launch_server --model-path openai/gpt-oss-20b",
      async probe(server, signal) {
        // `/generate` takes no model name, so the name is not checked.
        const offer = await expectModels(server, "an SGLang server", options.model, signal);
        const description = await describe(server, "sglang", "/get_server_info", signal);
        return { description, ...offer };
      },
      toCall: (request, server, callName) => ({
        path: "/generate",
        body: toBody(request, callName, options),
        reader: new SglangReader(
          server,
          new PromptEcho(server.name, request.prompt, callName),
          request.topLogprobs,
        ),
        openAtFirstEvent: true,
      }),
    },
    options,
  );
}

function toBody(request: CompletionRequest, callName: string, options: ServerOptions): RequestBody {
  const { topLogprobs } = request;
  return toIdsBody(
    { member: "input_ids", prompt: request.prompt },
    {},
    {
      rid: callName,
      stream: true,
      sampling_params: toSamplingParams(request),
      // The salt becomes part of the prefix cache's key.
      extra_key: request.cacheSalt || undefined,
      ...(topLogprobs !== undefined && {
        return_logprob: true,
        top_logprobs_num: topLogprobs,
        logprob_start_len: -1,
      }),
    },
    options.extraBody,
  );
}

/** Sampling parameters. The server refuses unknown fields in this object. */
function toSamplingParams(request: CompletionRequest): Record<string, unknown> {
  const { sampling } = request;
  return {
    max_new_tokens: request.maxTokens,
    ...toSamplingFields(sampling, COMMON_SAMPLING, { seed: "sampling_seed" }),
    top_k: sampling.topK === 0 ? -1 : sampling.topK,
    stop_token_ids: toStopIds(request),
    // For servers without ids in their output: the text must include the control tokens.
    skip_special_tokens: false,
    spaces_between_special_tokens: false,
    no_stop_trim: true,
    ...toNativeConstraint(CONSTRAINTS, request.constraint),
  };
}
