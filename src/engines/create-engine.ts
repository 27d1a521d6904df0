/** The list of engines: the one place that knows them all. The docs' table and `--help` are made from it. */
import { createDemoEngine } from "./demo.ts";
import { EngineError } from "./engine-error.ts";
import type { Capabilities, Engine } from "./engine.ts";
import { createLlamaCppEngine, LLAMA_CPP_CAPABILITIES } from "./llama-cpp.ts";
import type { ServerOptions } from "./server.ts";
import { createVllmEngine, VLLM_CAPABILITIES } from "./vllm.ts";

export const ENGINE_KINDS = ["demo", "vllm", "llama-cpp"] as const;

export type EngineKind = (typeof ENGINE_KINDS)[number];

/** {@link ServerOptions}, the URL left out where the engine has none or a usual one. */
export interface EngineOptions extends Omit<ServerOptions, "url"> {
  readonly url?: string;
}

export interface EngineEntry {
  /** What it is, for people: one line without a full stop. */
  readonly title: string;
  /** `none`: it is not reached over HTTP. A text: used when no URL is configured. */
  readonly url: "required" | "none" | { readonly default: string };
  /** What the kind can do at its best. A probe may find less. */
  readonly capabilities: Capabilities;
  create(options: ServerOptions): Engine;
}

export const ENGINES: Readonly<Record<EngineKind, EngineEntry>> = {
  demo: {
    title: "Built in, needs no model: answers deterministically",
    url: "none",
    capabilities: createDemoEngine().capabilities,
    create: () => createDemoEngine(),
  },
  vllm: {
    title: "vLLM, `/v1/completions` with token ids",
    url: { default: "http://127.0.0.1:8000" },
    capabilities: VLLM_CAPABILITIES,
    create: createVllmEngine,
  },
  "llama-cpp": {
    title: "llama-server of llama.cpp, `/completion`",
    url: { default: "http://127.0.0.1:8080" },
    capabilities: LLAMA_CPP_CAPABILITIES,
    create: createLlamaCppEngine,
  },
};

/** Throws an {@link EngineError} when the URL is missing or is none. Nothing is sent yet. */
export function createEngine(kind: EngineKind, options: EngineOptions): Engine {
  const entry = ENGINES[kind];
  return entry.create({ ...options, url: chooseUrl(kind, entry, options.url) });
}

function chooseUrl(kind: EngineKind, { url }: EngineEntry, configured: string | undefined): string {
  if (url === "none") return "";
  if (configured !== undefined) return configured;
  if (url !== "required") return url.default;
  throw new EngineError("unreachable", `The engine "${kind}" needs the URL of its server.`);
}
