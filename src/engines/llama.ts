/**
 * llama.cpp in the gateway's process: the portable part. The runtime supplies the native code: Node has `node/llama/`, Workers
 * have none.
 */
import { type ConstraintMap, constraintTypes, toChoiceGrammar } from "./request-body.ts";
import { EngineError } from "./engine-error.ts";
import type { Capabilities, Engine } from "./engine.ts";
import { COMMON_SAMPLING } from "./sampling.ts";
import { toJsonGrammar, toJsonObjectGrammar } from "./json-grammar.ts";

export interface LlamaOptions {
  /** A GGUF file: a path, `hf:user/repository/file`, a URL, or OpenAI's name of the model. */
  readonly model: string;
  /** Tokens of prompt and answer together. Absent: as many as memory allows. */
  readonly contextLength?: number;
  /** Creates the engine. Absent where native code cannot run. */
  readonly createNativeLlama?: CreateNativeLlama;
}

export type CreateNativeLlama = (options: Omit<LlamaOptions, "createNativeLlama">) => Engine;

/** Every constraint as a grammar in GBNF, which llama.cpp uses for sampling. */
export const LLAMA_CONSTRAINTS: ConstraintMap<string> = {
  "json-schema": ({ schema }) => toJsonGrammar(schema),
  "json-object": () => toJsonObjectGrammar(),
  choice: ({ options }) => toChoiceGrammar(options),
  "structural-tag": null,
  "token-grammar": ({ grammar }) => grammar,
  grammar: ({ grammar }) => grammar,
  lark: null,
  regex: null,
};

export const LLAMA_CAPABILITIES: Capabilities = {
  idsIn: true,
  idsOut: "exact",
  stopIdVisible: true,
  stopIds: true,
  constraints: constraintTypes(LLAMA_CONSTRAINTS),
  logprobs: true,
  sampling: COMMON_SAMPLING,
};

/** Without native code, returns an engine whose every use fails with an explanation: other models still work. */
export function createLlamaEngine(options: LlamaOptions): Engine {
  const { model, contextLength, createNativeLlama } = options;
  if (createNativeLlama !== undefined) {
    return createNativeLlama({ model, ...(contextLength !== undefined && { contextLength }) });
  }
  return {
    name: "llama",
    capabilities: LLAMA_CAPABILITIES,
    probe: () => Promise.reject(notHere()),
    complete: () => ({
      [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(notHere()) }),
    }),
  };
}

function notHere(): EngineError {
  return new EngineError(
    "not-found",
    'The engine "llama" runs llama.cpp in process, which requires Node. On Workers, use "llama-cpp" with the URL of a llama-server.',
  );
}
