/** The registry of engines. Settings, `--help` and the docs' table are generated from it. */
import { type AutoOptions, createAutoEngine } from "./auto.ts";
import { COMPLETIONS_CAPABILITIES, createCompletionsEngine } from "./completions.ts";
import { createDemoEngine, type DemoEngineOptions } from "./demo.ts";
import { EngineError } from "./engine-error.ts";
import type { Capabilities, Engine } from "./engine.ts";
import { SERVER_KINDS } from "./find-kind.ts";
import { createFireworksEngine, FIREWORKS_CAPABILITIES } from "./fireworks.ts";
import { createLlamaCppEngine, LLAMA_CPP_CAPABILITIES } from "./llama-cpp.ts";
import { createLlamaEngine, LLAMA_CAPABILITIES, type LlamaOptions } from "./llama.ts";
import { createOllamaEngine, OLLAMA_CAPABILITIES, type OllamaOptions } from "./ollama.ts";
import { createSglangEngine, SGLANG_CAPABILITIES } from "./sglang.ts";
import { createTrtllmEngine, TRTLLM_CAPABILITIES } from "./trtllm.ts";
import { createVllmEngine, VLLM_CAPABILITIES, type VllmOptions } from "./vllm.ts";

/**
 * @example
 * ```ts
 * import { ENGINE_KINDS } from "harmony-gateway";
 *
 * ENGINE_KINDS.includes("vllm"); // => true
 * ```
 */
export const ENGINE_KINDS = ["demo", "llama", ...SERVER_KINDS] as const;

export type EngineKind = (typeof ENGINE_KINDS)[number];

/** Engine kinds that a configuration accepts. `auto`: the kind is detected by queries to the server. */
export const CONFIGURED_KINDS = [...ENGINE_KINDS, "auto"] as const;

export type ConfiguredKind = (typeof CONFIGURED_KINDS)[number];

/** The options of all kinds; each kind ignores options of others. */
type AllOptions = AutoOptions & VllmOptions & OllamaOptions & LlamaOptions & DemoEngineOptions;

/** Like {@link AllOptions}, with the URL optional: some kinds have none, or a default. */
export interface EngineOptions extends Omit<AllOptions, "url"> {
  readonly url?: string;
}

export interface EngineEntry {
  /** A description of one line, without a full stop. */
  readonly title: string;
  /** `none`: the engine is not reached over HTTP. `default`: used when no URL is configured. */
  readonly url: "required" | "none" | { readonly default: string };
  /** The maximum that the kind supports. A probe may find less. */
  readonly capabilities: Capabilities;
  create(options: AllOptions): Engine;
}

export const ENGINES: Readonly<Record<EngineKind, EngineEntry>> = {
  demo: {
    title: "Built in, needs no model: answers deterministically",
    url: "none",
    capabilities: createDemoEngine().capabilities,
    create: createDemoEngine,
  },
  llama: {
    title:
      "llama.cpp in the gateway's own process, on Node only: `--model` is a GGUF file, found or downloaded",
    url: "none",
    capabilities: LLAMA_CAPABILITIES,
    create: createLlamaEngine,
  },
  vllm: {
    title: "vLLM, `/v1/completions` with token ids",
    url: { default: "http://127.0.0.1:8000" },
    capabilities: VLLM_CAPABILITIES,
    create: createVllmEngine,
  },
  sglang: {
    title: "SGLang, `/generate` with token ids",
    url: { default: "http://127.0.0.1:30000" },
    capabilities: SGLANG_CAPABILITIES,
    create: createSglangEngine,
  },
  "llama-cpp": {
    title: "llama-server of llama.cpp, `/completion`",
    url: { default: "http://127.0.0.1:8080" },
    capabilities: LLAMA_CPP_CAPABILITIES,
    create: createLlamaCppEngine,
  },
  trtllm: {
    title: "TensorRT-LLM's `trtllm-serve`, `/v1/completions` with token ids",
    url: { default: "http://127.0.0.1:8000" },
    capabilities: TRTLLM_CAPABILITIES,
    create: createTrtllmEngine,
  },
  ollama: {
    title: "Ollama, `/api/generate` in raw mode, text only",
    url: { default: "http://127.0.0.1:11434" },
    capabilities: OLLAMA_CAPABILITIES,
    create: createOllamaEngine,
  },
  fireworks: {
    title: "Fireworks, hosted, `/v1/completions` with token ids",
    url: { default: "https://api.fireworks.ai/inference" },
    capabilities: FIREWORKS_CAPABILITIES,
    create: createFireworksEngine,
  },
  completions: {
    title: "Any OpenAI-style `/v1/completions`, text only: LM Studio, MLX-LM, KoboldCpp, DeepInfra",
    url: "required",
    capabilities: COMPLETIONS_CAPABILITIES,
    create: createCompletionsEngine,
  },
};

/**
 * Throws an {@link EngineError} if the URL is missing or invalid. Makes no request.
 *
 * @example
 * ```ts
 * import { createEngine } from "harmony-gateway";
 *
 * createEngine("demo", { model: "demo" }).name; // => "demo"
 * ```
 */
export function createEngine(kind: ConfiguredKind, options: EngineOptions): Engine {
  if (kind === "auto") {
    if (options.url === undefined) throw needsUrl(kind);
    return createAutoEngine({ ...options, url: options.url }, createEngine);
  }
  const entry = ENGINES[kind];
  return entry.create({ ...options, url: chooseUrl(kind, entry, options.url) });
}

function chooseUrl(kind: EngineKind, { url }: EngineEntry, configured: string | undefined): string {
  if (url === "none") return "";
  if (configured !== undefined) return configured;
  if (url !== "required") return url.default;
  throw needsUrl(kind);
}

function needsUrl(kind: ConfiguredKind): EngineError {
  return new EngineError("unreachable", `The engine "${kind}" needs the URL of its server.`);
}
