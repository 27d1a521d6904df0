/** Gets a gpt-oss model into memory: the library, the file, the weights, the context. */
import { availableParallelism } from "node:os";
import type {
  LlamaContextSequence,
  LlamaGrammarEvaluationState,
  Token,
  TokenBias,
} from "node-llama-cpp";
import { EngineError } from "../../engines/engine-error.ts";
import { SPECIAL_TOKENS, type TokenId } from "../../tokenizer/index.ts";
import { findModelFile, type ModelFileOptions } from "./model-file.ts";
import { createSequencePool, type Sequence, type SequencePool } from "./sequence-pool.ts";

export interface LlamaModelOptions extends ModelFileOptions {
  /** How many completions run at once, 4 unless given. Each takes memory for a whole context. */
  readonly sequences?: number;
  /** Tokens of prompt and answer together. Absent: what memory allows, at most 32,768. */
  readonly contextLength?: number;
  /** Absent: the best there is. `false`: the processor only. */
  readonly gpu?: "metal" | "cuda" | "vulkan" | false;
  /** Threads of the processor. Absent: one for each core. */
  readonly threads?: number;
}

export interface LoadedModel {
  readonly name: string;
  /** Tokens of prompt and answer together, for each sequence. */
  readonly contextLength: number;
  readonly batchSize: number;
  readonly sequences: SequencePool<ModelSequence>;
  /** The start of a text that has to follow a grammar in GBNF. Rejects when it is none. */
  beginGrammar(grammar: string): Promise<LlamaGrammarEvaluationState>;
  /** From what is added to logits. The library lets nobody forbid the ids that end a completion. */
  createBias(logitBias: ReadonlyMap<TokenId, number>): TokenBias;
  dispose(): Promise<void>;
}

export interface ModelSequence extends Sequence {
  readonly native: LlamaContextSequence;
  /** Whose tokens it holds: how fast an answer begins must not tell one tenant what another asked. */
  cacheSalt: string | undefined;
}

const DEFAULT_SEQUENCES = 4;
const DEFAULT_MAX_CONTEXT_LENGTH = 32_768;
/** One is taken for each completion; the library's default is 32 of any size. */
const CHECKPOINTS = { max: 8, maxMemory: 256 * 1024 ** 2 };

/** Rejects with the signal's reason, or what became of it on the way, when it is aborted while loading. */
export async function loadModel(
  options: LlamaModelOptions,
  signal: AbortSignal,
): Promise<LoadedModel> {
  signal.throwIfAborted();
  const { sequences = DEFAULT_SEQUENCES, contextLength, gpu = "auto" } = options;
  // The library starts at least four. They wait for each other by spinning: with fewer cores than threads a
  // token took 800 ms instead of 14.
  const threads = options.threads ?? availableParallelism();
  const library = await importLibrary();
  const modelPath = await findModelFile(library.resolveModelFile, options, signal);
  // Building llama.cpp from source takes minutes and a compiler: not something a server does when it starts.
  const llama = await library.getLlama({
    gpu,
    build: "never",
    logLevel: library.LlamaLogLevel.error,
    progressLogs: false,
    maxThreads: threads,
  });
  try {
    const model = await llama.loadModel({ modelPath, loadSignal: signal });
    expectHarmonyTokens((id) => model.detokenize(toTokens([id]), true), options.model);
    const context = await model.createContext({
      sequences,
      createSignal: signal,
      contextSize: contextLength ?? { max: DEFAULT_MAX_CONTEXT_LENGTH },
      threads,
    });
    return {
      name: model.fileInfo.metadata.general?.name ?? options.model,
      contextLength: context.contextSize,
      batchSize: context.batchSize,
      sequences: createSequencePool(
        Array.from({ length: sequences }, () =>
          toSequence(context.getSequence({ checkpoints: CHECKPOINTS })),
        ),
      ),
      beginGrammar: async (grammar) =>
        new library.LlamaGrammarEvaluationState({
          model,
          grammar: await llama.createGrammar({ grammar }),
        }),
      createBias(logitBias) {
        const bias = library.TokenBias.for(model);
        for (const [id, logit] of logitBias) {
          bias.set(toTokens([id]), logit <= -100 ? "never" : { logit });
        }
        return bias;
      },
      dispose: () => llama.dispose(),
    };
  } catch (error) {
    await llama.dispose();
    throw error;
  }
}

async function importLibrary() {
  try {
    return await import("node-llama-cpp");
  } catch (error) {
    throw new EngineError(
      "unreachable",
      "The engine llama needs a package that is not installed: npm install node-llama-cpp",
      { cause: error },
    );
  }
}

/**
 * Throws when the model has another vocabulary: it would take our ids for something else.
 *
 * @param spell the model's own spelling of an id, special ones included.
 */
export function expectHarmonyTokens(spell: (id: TokenId) => string, model: string): void {
  for (const [name, id] of Object.entries(SPECIAL_TOKENS)) {
    const spelled = spell(id);
    if (spelled === name) continue;
    throw new EngineError(
      "not-found",
      `${model} is no gpt-oss model: its token ${id} is ${JSON.stringify(spelled)} instead of ${name}.`,
    );
  }
}

function toSequence(native: LlamaContextSequence): ModelSequence {
  return {
    native,
    cacheSalt: undefined,
    get nextTokenIndex() {
      return native.nextTokenIndex;
    },
  };
}

/** The library brands its ids; they are the same numbers. */
export function toTokens(ids: readonly TokenId[]): Token[] {
  return ids.filter((id): id is Token => Number.isInteger(id));
}
