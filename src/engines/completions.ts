/**
 * Any server with an OpenAI-style `/v1/completions` that reads and writes text: LM Studio, MLX-LM, KoboldCpp,
 * DeepInfra, Together. The server parses control tokens in the prompt, so user text that spells one is
 * altered before it gets here.
 */
import { createCompletionReader } from "./completion-reader.ts";
import type { Capabilities, CompletionRequest, Engine } from "./engine.ts";
import { probeModels } from "./models-probe.ts";
import { toJsonBody } from "./request-body.ts";
import { toSamplingFields } from "./sampling.ts";
import { createServerEngine } from "./server-engine.ts";
import type { ServerOptions } from "./server.ts";

export const COMPLETIONS_CAPABILITIES: Capabilities = {
  idsIn: false,
  idsOut: "none",
  stopIdVisible: false,
  stopIds: false,
  constraints: [],
  logprobs: false,
  // Supported by every such server. Others can be set by `extraBody`.
  sampling: ["temperature", "topP", "frequencyPenalty", "presencePenalty", "seed", "logitBias"],
};

export function createCompletionsEngine(options: ServerOptions): Engine {
  const api = toApiPath(options.url);
  return createServerEngine(
    {
      name: "completions",
      capabilities: COMPLETIONS_CAPABILITIES,
      probe: async (server, signal) => ({
        description: "completions",
        ...(await probeModels(server, `${api}/models`, options.model, signal)),
      }),
      toCall: (request, server) => ({
        path: `${api}/completions`,
        body: toBody(request, options),
        reader: createCompletionReader(server),
      }),
    },
    options,
  );
}

/** A URL with a path is the base of the API, as in the OpenAI SDK: `https://api.deepinfra.com/v1/openai`. */
function toApiPath(url: string): string {
  const path = new URL(url).pathname.replace(/\/+$/, "");
  return path === "" || path.endsWith("/v1") ? "/v1" : "";
}

function toBody(request: CompletionRequest, options: ServerOptions): string {
  return toJsonBody(
    {},
    {
      model: options.model,
      prompt: request.prompt.text(),
      stream: true,
      stream_options: { include_usage: true },
      max_tokens: request.maxTokens,
      ...toSamplingFields(request.sampling, COMPLETIONS_CAPABILITIES.sampling),
      // Servers based on vLLM omit control tokens without this field; others ignore it.
      skip_special_tokens: false,
    },
    options.extraBody,
  );
}
