/** The doctor's advice for each kind of engine, and the endpoints with the server's state. */
import type { EngineKind } from "../engines/create-engine.ts";

export interface EngineAdvice {
  /** Advice that gives the engine a longer context. */
  readonly longerContext: string;
  /** Advice that makes the engine enforce constraints. */
  readonly constraints: string;
  /** Advice that forbids white space between the tokens of JSON. Absent: the kind has no such setting. */
  readonly compactJson?: string;
  /** Advice that makes the engine send token ids. Absent: the kind sends text only. */
  readonly ids?: string;
  readonly prefixCache: string;
  /** Advice that makes the engine cache generated tokens, too. */
  readonly loopCache: string;
  /** The body of a request to `/tokenize`. Absent: the engine has no such endpoint. */
  readonly tokenizeBody?: (text: string, model: string) => object;
  /** The metric with the number of running completions. Absent: the engine has no such metric. */
  readonly runningGauge?: string;
}

/** Advice that fits any server. */
const GENERAL: EngineAdvice = {
  longerContext: "Start the server with a longer context.",
  constraints: "Update the server, or see which flag turns structured outputs on.",
  prefixCache: "Turn on the server's prefix cache.",
  loopCache: "Let the server cache what it generates, too.",
};

export const ENGINE_ADVICE: Readonly<Record<EngineKind, EngineAdvice>> = {
  vllm: {
    longerContext: "vllm serve … --max-model-len 131072",
    constraints: "vLLM 0.11 or newer, and no flag that turns structured outputs off.",
    compactJson: `vllm serve … --structured-outputs-config '{"backend":"xgrammar","disable_any_whitespace":true}'`,
    ids: "Update vLLM to 0.10.2 or newer, which knows return_token_ids.",
    prefixCache: "vllm serve … --enable-prefix-caching --enable-prompt-tokens-details",
    loopCache:
      "vllm serve … --prefix-cache-retention-interval 128; it takes room in the cache under load.",
    tokenizeBody: (prompt, model) => ({ model, prompt, add_special_tokens: false }),
    runningGauge: "vllm:num_requests_running",
  },
  sglang: {
    longerContext: "launch_server … --context-length 131072",
    constraints: "launch_server … --grammar-backend xgrammar, and no --reasoning-parser.",
    compactJson: "launch_server … --constrained-json-disable-any-whitespace",
    ids: "Update SGLang: /generate sends output_ids.",
    prefixCache: "No --disable-radix-cache.",
    loopCache: "Update the server: some versions cache prompts only.",
    tokenizeBody: (prompt, model) => ({ model, prompt, add_special_tokens: false }),
    runningGauge: "sglang:num_running_reqs",
  },
  "llama-cpp": {
    ...GENERAL,
    longerContext:
      "llama-server … --ctx-size 131072: with --parallel n, each slot has an nth of it.",
    constraints: "Update llama-server; token grammars need a build of December 2025 or newer.",
    ids: "Update llama-server: frames of /completion have tokens.",
    prefixCache: "No --no-cache-prompt, and --swa-full or a recent build for gpt-oss' windows.",
    tokenizeBody: (content) => ({ content, add_special: false, parse_special: true }),
  },
  trtllm: {
    ...GENERAL,
    longerContext: "trtllm-serve … --max_seq_len 131072",
    constraints: "guided_decoding_backend: xgrammar in the file of --extra_llm_api_options.",
    ids: "Update TensorRT-LLM: with detokenize false it sends token_ids.",
    prefixCache: "enable_block_reuse: true under kv_cache_config.",
  },
  ollama: {
    ...GENERAL,
    longerContext: "--context-length 131072: Ollama loads the model for so many tokens.",
    constraints: "Update Ollama to 0.5 or newer, which knows format.",
    prefixCache: "Ollama caches and does not say so; nothing to change.",
  },
  fireworks: {
    ...GENERAL,
    constraints: "Ask Fireworks whether this model takes response_format.",
    ids: "Leave return_token_ids in the request; check extraBody.",
  },
  completions: GENERAL,
  llama: {
    ...GENERAL,
    longerContext: "--context-length 131072, if memory allows.",
    constraints: "Update node-llama-cpp.",
  },
  demo: GENERAL,
};

/** @param kind undefined: the kind is unknown. */
export function adviceFor(kind: EngineKind | undefined): EngineAdvice {
  return kind === undefined ? GENERAL : ENGINE_ADVICE[kind];
}
