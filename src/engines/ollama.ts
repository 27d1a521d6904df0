/**
 * Ollama, on `/api/generate` with `raw`: text in, text out. Raw mode bypasses its template and its own Harmony parser; its
 * OpenAI-style endpoint does not.
 *
 * The token that ends a completion is neither in the output nor reported.
 */
import * as z from "zod";
import type { CompletionReader } from "./completion-decoder.ts";
import {
  type ConstraintMap,
  constraintTypes,
  toJsonBody,
  toNativeConstraint,
} from "./request-body.ts";
import { expectModel, readContextLength } from "./models-probe.ts";
import { describe, type Server, type ServerOptions } from "./server.ts";
import { EngineError } from "./engine-error.ts";
import type {
  Capabilities,
  CompletionRequest,
  Engine,
  EngineFinish,
  EngineTokens,
} from "./engine.ts";
import { readFrame } from "./frame.ts";
import { isNamedGptOss, OtherModelError } from "./other-model.ts";
import { COMMON_SAMPLING, toSamplingFields } from "./sampling.ts";
import { toUsage } from "./read-tokens.ts";
import { createServerEngine } from "./server-engine.ts";
import { MAX_EVENT_CHARS, type Splitter } from "./sse.ts";

export interface OllamaOptions extends ServerOptions {
  /**
   * Tokens of prompt and completion together. Ollama allocates the context when it loads the model; its default of
   * about 4096 is too small for a conversation with tools.
   */
  readonly contextLength?: number;
}

const DEFAULT_CONTEXT_LENGTH = 32_768;

/** The field `format`, as JSON: a schema or `"json"`. Other values are not supported. */
const CONSTRAINTS: ConstraintMap<string> = {
  "json-schema": ({ schema }) => schema,
  "json-object": () => '"json"',
  choice: null,
  "structural-tag": null,
  "token-grammar": null,
  grammar: null,
  lark: null,
  regex: null,
};

const HONOURED = COMMON_SAMPLING.filter((name) => name !== "logitBias");

export const OLLAMA_CAPABILITIES: Capabilities = {
  idsIn: false,
  idsOut: "none",
  stopIdVisible: false,
  stopIds: false,
  constraints: constraintTypes(CONSTRAINTS),
  logprobs: false,
  sampling: HONOURED,
};

const tags = z.lazy(() => z.object({ models: z.array(z.object({ name: z.string() })) }));
const details = z.lazy(() => z.object({ model_info: z.record(z.string(), z.unknown()) }));

const START = "ollama pull gpt-oss:20b, then --model gpt-oss:20b";

export function createOllamaEngine(options: OllamaOptions): Engine {
  const numCtx = options.contextLength ?? DEFAULT_CONTEXT_LENGTH;
  return createServerEngine(
    {
      name: "ollama",
      capabilities: OLLAMA_CAPABILITIES,
      healthPath: "/api/version",
      start: START,
      async probe(server, signal) {
        const models = await readModels(server, signal);
        expectModel(server, withTag(options.model), models);
        const info = await readModelInfo(server, options.model, signal);
        const architecture = info["general.architecture"];
        if (typeof architecture === "string" && !isNamedGptOss(architecture)) {
          const offer = {
            server: server.name,
            model: withTag(options.model),
            models,
            start: START,
          };
          throw new OtherModelError(offer, `its architecture is "${architecture.slice(0, 100)}"`);
        }
        const { contextLength = numCtx, ...rest } = toContextLength(info);
        return {
          description: await describe(server, "ollama", "/api/version", signal),
          models,
          contextLength: Math.min(numCtx, contextLength),
          ...rest,
        };
      },
      toCall: (request, server) => ({
        path: "/api/generate",
        body: toBody(request, numCtx, options),
        reader: createOllamaReader(server),
        splitter: createLineSplitter(),
      }),
    },
    options,
  );
}

async function readModels(server: Server, signal: AbortSignal): Promise<string[]> {
  const found = tags.safeParse(await server.get("/api/tags", signal));
  if (found.success) return found.data.models.map(({ name }) => name);
  throw new EngineError(
    "not-found",
    `${server.name} has no list of models at /api/tags. Is this the URL of an Ollama server?`,
  );
}

/** A name without a tag means the tag `latest`. */
function withTag(model: string): string {
  return /:[^/]*$/.test(model) ? model : `${model}:latest`;
}

const CONTEXT_KEY = ".context_length";

async function readModelInfo(
  server: Server,
  model: string,
  signal: AbortSignal,
): Promise<Readonly<Record<string, unknown>>> {
  const found = details.safeParse(
    await server.post("/api/show", JSON.stringify({ model }), signal),
  );
  return found.data?.model_info ?? {};
}

/** The model's own context length, in tokens. The key begins with the architecture: `gptoss.context_length`. */
function toContextLength(
  info: Readonly<Record<string, unknown>>,
): ReturnType<typeof readContextLength> {
  const length = Object.entries(info).find(([key]) => key.endsWith(CONTEXT_KEY))?.[1];
  return readContextLength([[`${CONTEXT_KEY} of the model`, length]]);
}

function toBody(request: CompletionRequest, numCtx: number, options: OllamaOptions): string {
  const { sampling } = request;
  return toJsonBody(
    { format: toNativeConstraint(CONSTRAINTS, request.constraint) },
    {
      model: options.model,
      raw: true,
      // The default is on, and Ollama's parser may move part of the text to another field.
      think: false,
      stream: true,
      prompt: request.prompt.text(),
      // By default the beginning of an oversized prompt is dropped, also during a long answer.
      truncate: false,
      shift: false,
      options: {
        num_predict: request.maxTokens,
        num_ctx: numCtx,
        ...toSamplingFields(sampling, HONOURED, { repetitionPenalty: "repeat_penalty" }),
        typical_p: 1,
        seed: sampling.seed ?? RANDOM_SEED,
      },
    },
    options.extraBody,
  );
}

const RANDOM_SEED = -1;

const ollamaFrame = z.lazy(() =>
  z.object({
    response: z.string().nullish(),
    thinking: z.string().nullish(),
    done: z.boolean().nullish(),
    done_reason: z.string().nullish(),
    prompt_eval_count: z.number().nullish(),
    eval_count: z.number().nullish(),
  }),
);

function createOllamaReader(server: Server): CompletionReader {
  let text = "";
  let finish: EngineFinish | undefined;
  return {
    push(line) {
      const frame = readFrame(line, ollamaFrame, server);
      text += (frame.thinking ?? "") + (frame.response ?? "");
      if (frame.done !== true) return;
      const { prompt_eval_count: prompt, eval_count: completion } = frame;
      const native = frame.done_reason ?? null;
      finish = {
        type: "finish",
        reason: native === "length" ? "length" : "stop",
        nativeReason: native,
        usage: toUsage(prompt, undefined, completion),
      };
    },
    drain(): EngineTokens | undefined {
      if (text === "") return undefined;
      const tokens: EngineTokens = { type: "text", text };
      text = "";
      return tokens;
    },
    finish: () => finish,
    isDone: () => finish !== undefined,
  };
}

/** Passes on non-blank lines. A last line without a line break is dropped: it may be incomplete. */
export function createLineSplitter(): Splitter {
  const decoder = new TextDecoder();
  // Fragments of an unfinished line, joined once: appending to a string would copy a long line at every read.
  let fragments: string[] = [];
  let pending = 0;
  return {
    push(bytes, consumer) {
      const text = decoder.decode(bytes, { stream: true });
      const lines = text.split("\n");
      const rest = lines.pop() ?? "";
      if (lines.length > 0) {
        lines[0] = fragments.join("") + (lines[0] ?? "");
        fragments = [];
        pending = 0;
      }
      if (rest !== "") {
        fragments.push(rest);
        pending += rest.length;
      }
      if (pending > MAX_EVENT_CHARS) {
        throw new Error(`a line longer than ${MAX_EVENT_CHARS} characters`);
      }
      const events = lines.filter((line) => line.trim() !== "");
      for (const event of events) consumer(event);
      return events.length > 0;
    },
  };
}
