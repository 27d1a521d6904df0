/**
 * llama.cpp in this process, through node-llama-cpp: exact ids in and out, no server to run.
 *
 * The model is loaded once, on first use. Node only: the library is native code.
 */
import type { LlamaGrammarEvaluationState, SequenceEvaluateOptions } from "node-llama-cpp";
import { toNativeConstraint, toStopIds } from "../../engines/request-body.ts";
import { EngineError } from "../../engines/engine-error.ts";
import type {
  CompletionRequest,
  Constraint,
  Engine,
  EngineEvent,
  TokenLogprob,
} from "../../engines/engine.ts";
import {
  type CreateNativeLlama,
  LLAMA_CAPABILITIES,
  LLAMA_CONSTRAINTS,
} from "../../engines/llama.ts";
import type { TokenId } from "../../tokenizer/index.ts";
import { createDownloadReport, type DownloadProgress, toProgressBar } from "./model-file.ts";
import {
  type LlamaModelOptions,
  type LoadedModel,
  loadModel,
  type ModelSequence,
  toTokens,
} from "./model.ts";
import { unlessAborted } from "../../streams/unless-aborted.ts";
import type { Log } from "../../telemetry/log.ts";

export interface NativeLlama extends Engine {
  /** Frees the model's memory, or stops loading it. In-flight and later completions fail. */
  close(): Promise<void>;
}

export function createNativeLlama(options: LlamaModelOptions): NativeLlama {
  let loading: Promise<LoadedModel> | undefined;
  let isLoaded = false;
  let download: DownloadProgress | undefined;
  const closing = new AbortController();

  const load = async () => {
    const onDownload = (progress: DownloadProgress) => {
      download = progress.downloadedBytes < progress.totalBytes ? progress : undefined;
      options.onDownload?.(progress);
    };
    const attempt = (loading ??= loadModel({ ...options, onDownload }, closing.signal));
    try {
      const model = await attempt;
      isLoaded = true;
      return model;
    } catch (error) {
      // The next request retries: the file may exist by then, or memory be free.
      if (loading === attempt) loading = undefined;
      throw error instanceof EngineError ? error : explainLoadFailure(error, options.model);
    } finally {
      download = undefined;
    }
  };
  const notYet = (cause?: unknown) =>
    new EngineError(
      "loading",
      download === undefined
        ? "The model is still being loaded."
        : `The model is still being downloaded: ${toProgressBar(download)}`,
      { cause },
    );

  return {
    name: "llama",
    capabilities: LLAMA_CAPABILITIES,
    async probe(signal) {
      const { name, contextLength } = await unlessAborted(load(), signal, notYet);
      return {
        description: `llama.cpp in process, ${name}`,
        contextLength,
        models: [name],
        capabilities: LLAMA_CAPABILITIES,
      };
    },
    async *complete(request, signal) {
      // Loading takes up to minutes, and a download takes longer than clients wait.
      if (loading !== undefined && !isLoaded) throw notYet();
      const loaded = await unlessAborted(load(), signal);
      yield* complete(loaded, request, signal);
    },
    async close() {
      closing.abort(new EngineError("closed", "The model has been closed."));
      const loaded = await loading?.catch(() => undefined);
      await loaded?.dispose();
    },
  };
}

async function* complete(
  loaded: LoadedModel,
  request: CompletionRequest,
  signal: AbortSignal,
): AsyncGenerator<EngineEvent> {
  const { ids } = request.prompt;
  if (ids.length >= loaded.contextLength) {
    const serverMessage = `The prompt has ${ids.length} tokens; the context length is ${loaded.contextLength}, including the answer.`;
    throw new EngineError("context-length", serverMessage, { serverMessage });
  }
  const grammar = request.constraint && (await beginGrammar(loaded, request.constraint));
  const sequence = await loaded.sequences.acquire(
    ({ native, cacheSalt }) =>
      cacheSalt === request.cacheSalt
        ? native.compareContextTokens(toTokens(ids)).firstDifferentIndex
        : 0,
    signal,
  );
  try {
    if (sequence.cacheSalt !== request.cacheSalt) await sequence.native.clearHistory();
    sequence.cacheSalt = request.cacheSalt;
    yield { type: "open" };
    yield* generate(loaded, sequence, request, grammar, signal);
  } catch (error) {
    throw error instanceof EngineError || error === signal.reason ? error : toServerError(error);
  } finally {
    loaded.sequences.release(sequence);
  }
}

async function* generate(
  loaded: LoadedModel,
  { native }: ModelSequence,
  request: CompletionRequest,
  grammar: LlamaGrammarEvaluationState | undefined,
  signal: AbortSignal,
): AsyncGenerator<EngineEvent> {
  const { prompt, sampling, topLogprobs } = request;
  const cachedTokens = await evaluatePrompt(native, prompt.ids, loaded.batchSize, signal);
  const stopIds = new Set(toStopIds(request));
  const maxTokens = Math.min(request.maxTokens, loaded.contextLength - prompt.ids.length);
  const generated: TokenId[] = [];
  const last = toTokens(prompt.ids.slice(-1));
  const options: SequenceEvaluateOptions = {
    ...toSamplingOptions(request, loaded, generated),
    ...(grammar !== undefined && { grammarEvaluationState: grammar }),
    yieldEogToken: true,
  };
  const samples: AsyncIterable<Sample> =
    topLogprobs === undefined
      ? native.evaluateWithMetadata(last, {}, options)
      : native.evaluateWithMetadata(last, { probabilities: true }, options);
  let stopped = false;
  for await (const { token, probabilities } of samples) {
    signal.throwIfAborted();
    generated.push(token);
    yield {
      type: "ids",
      ids: [token],
      ...(probabilities !== undefined && {
        logprobs: [toTokenLogprob(token, probabilities, sampling.temperature, topLogprobs ?? 0)],
      }),
    };
    stopped = stopIds.has(token);
    if (stopped || generated.length === maxTokens) break;
  }
  const reason = stopped ? "stop" : "length";
  yield {
    type: "finish",
    reason,
    nativeReason: reason,
    usage: {
      promptTokens: prompt.ids.length,
      cachedTokens,
      completionTokens: generated.length,
    },
  };
}

interface Sample {
  readonly token: TokenId;
  readonly probabilities?: ReadonlyMap<TokenId, number>;
}

/**
 * Evaluates the prompt except its last token, from which sampling begins. Returns how many tokens were cached. Works in
 * batches, so that an abort need not wait for a long prompt.
 */
async function evaluatePrompt(
  sequence: ModelSequence["native"],
  ids: readonly TokenId[],
  batchSize: number,
  signal: AbortSignal,
): Promise<number> {
  const tokens = toTokens(ids.slice(0, -1));
  await sequence.adaptStateToTokens(tokens, false);
  const cachedTokens = sequence.nextTokenIndex;
  for (let at = cachedTokens; at < tokens.length; at += batchSize) {
    signal.throwIfAborted();
    await sequence.evaluateWithoutGeneratingNewTokens(tokens.slice(at, at + batchSize));
  }
  // Sliding-window layers discard old tokens. The next turn drops this turn's reasoning and returns to this position: without a
  // checkpoint the whole prompt would be evaluated again.
  await sequence.takeCheckpoint();
  return cachedTokens;
}

/**
 * Maximum candidates of sampling, instead of all 201,088 tokens: sorting all costs 20 ms per token, and tokens after the first
 * thousand are practically never sampled.
 */
const CANDIDATES = 1024;

function toSamplingOptions(
  { sampling }: CompletionRequest,
  loaded: LoadedModel,
  generated: readonly TokenId[],
): SequenceEvaluateOptions {
  const { temperature, topP, topK, minP, logitBias } = sampling;
  const { frequencyPenalty, presencePenalty, repetitionPenalty } = sampling;
  const penalises = frequencyPenalty !== 0 || presencePenalty !== 0 || repetitionPenalty !== 1;
  return {
    temperature,
    topP,
    topK: topK === 0 ? CANDIDATES : topK,
    minP,
    // The library's default is the current second: concurrent requests would get the same answer.
    seed: (sampling.seed ?? Math.floor(Math.random() * 2 ** 32)) >>> 0,
    ...(logitBias !== undefined && { tokenBias: loaded.createBias(logitBias) }),
    ...(penalises && {
      repeatPenalty: {
        punishTokens: () => toTokens(generated),
        penalty: repetitionPenalty,
        frequencyPenalty,
        presencePenalty,
      },
    }),
  };
}

async function beginGrammar(
  loaded: LoadedModel,
  constraint: Constraint,
): Promise<LlamaGrammarEvaluationState> {
  try {
    const grammar = toNativeConstraint(LLAMA_CONSTRAINTS, constraint);
    if (grammar !== undefined) return await loaded.beginGrammar(grammar);
  } catch (error) {
    throw new EngineError("bad-request", "llama.cpp cannot convert this schema to a grammar.", {
      cause: error,
    });
  }
  throw new EngineError("bad-request", `llama.cpp does not support "${constraint.type}".`);
}

function toServerError(error: unknown): EngineError {
  const why = error instanceof Error ? error.message : String(error);
  return new EngineError("server-error", `llama.cpp failed: ${why}`, { cause: error });
}

/** The in-process engines of a gateway. A reload that keeps a model keeps its engine: loading it again takes minutes. */
interface Llamas {
  readonly create: CreateNativeLlama;
  close(): Promise<void>;
}

export function createLlamas(log: Log): Llamas {
  const engines = new Map<string, NativeLlama>();
  return {
    create(options) {
      const { model, contextLength } = options;
      const key = JSON.stringify([model, contextLength]);
      const known = engines.get(key);
      if (known !== undefined) return known;
      const engine = createNativeLlama({
        ...options,
        onDownload: createDownloadReport(
          (progress) => log.info("download", { model, progress }),
          () => performance.now(),
        ),
        onLoad: (file) => log.info("loading", { model, file }),
      });
      engines.set(key, engine);
      return engine;
    },
    async close() {
      await Promise.all([...engines.values()].map((engine) => engine.close()));
    },
  };
}

/**
 * Computes a log probability. The sampler's probabilities include the temperature, the model's do not. So the temperature is
 * undone and the result normalised over the tokens that the sampler considered.
 *
 * @param probabilities sorted, most likely first.
 */
export function toTokenLogprob(
  id: TokenId,
  probabilities: ReadonlyMap<TokenId, number>,
  temperature: number,
  alternatives: number,
): TokenLogprob {
  // At temperature 0 the most likely token is chosen, without scaling.
  const power = temperature > 0 ? temperature : 1;
  let sum = 0;
  for (const probability of probabilities.values()) sum += probability ** power;
  const normaliser = Math.log(sum);
  const logprobOf = (probability: number) => power * Math.log(probability) - normaliser;
  const top = probabilities.entries().take(alternatives);
  return {
    id,
    logprob: logprobOf(probabilities.get(id) ?? 0),
    top: Array.from(top, ([each, probability]) => ({ id: each, logprob: logprobOf(probability) })),
  };
}

/** Explanations of failures to load a model, for the operator. */
const KNOWN: readonly (readonly [RegExp, (model: string) => string])[] = [
  [
    /GGUF magic/i,
    (model) =>
      `${model} is not a GGUF file: its first bytes are something else. A download may have saved a web page instead.`,
  ],
  [
    /unexpected end|end of file|offset .* out of/i,
    (model) => `${model} ends too early. Download it again.`,
  ],
  [
    /memory|VRAM|too large/i,
    (model) =>
      `${model} does not fit in memory. Set a smaller --context-length, free memory, or choose a smaller model.`,
  ],
  [/ENOENT/, (model) => `There is no file ${model}.`],
  [/EACCES|EPERM/, (model) => `The gateway may not read ${model}. Check the file's permissions.`],
  [/EISDIR/, (model) => `${model} is a folder. Name the GGUF file in it.`],
];

export function explainLoadFailure(error: unknown, model: string): EngineError {
  const why = error instanceof Error ? error.message : String(error);
  const explain = KNOWN.find(([pattern]) => pattern.test(why))?.[1];
  return explain === undefined
    ? new EngineError("server-error", `llama.cpp cannot load ${model}: ${why}`, { cause: error })
    : new EngineError("not-found", explain(model), { cause: error });
}
