/** Loads a gpt-oss model: the library, the file, the weights, the context. */
import { availableParallelism } from "node:os";
import type {
  LlamaContextSequence,
  LlamaGrammarEvaluationState,
  Token,
  TokenBias,
} from "node-llama-cpp";
import { EngineError } from "../../engines/engine-error.ts";
import { Wait } from "../../streams/waiting.ts";
import { SPECIAL_TOKENS, type TokenId } from "../../tokenizer/index.ts";
import { toInstallCommand } from "../cli/install-hint.ts";
import { expectModelFile, findModelFile, type ModelFileOptions } from "./model-file.ts";

export interface LlamaModelOptions extends ModelFileOptions {
  /** Concurrent completions, 4 by default. Each needs memory for a whole context. */
  readonly sequences?: number;
  /** Tokens of prompt and answer together. Absent: as memory allows, at most 32,768. */
  readonly contextLength?: number;
  /** Compute backend. Absent: the best available. `false`: CPU only. */
  readonly gpu?: "metal" | "cuda" | "vulkan" | false;
  /** CPU threads. Absent: one per core. */
  readonly threads?: number;
  /** Called with the file's path before the file is loaded. */
  readonly onLoad?: (path: string) => void;
}

export interface LoadedModel {
  readonly name: string;
  /** Tokens of prompt and answer together, for each sequence. */
  readonly contextLength: number;
  readonly batchSize: number;
  readonly sequences: SequencePool<ModelSequence>;
  /** Creates the sampling state of a GBNF grammar. Rejects when the grammar is invalid. */
  beginGrammar(grammar: string): Promise<LlamaGrammarEvaluationState>;
  /** Converts logit biases. The library does not let a bias forbid the ids that end a completion. */
  createBias(logitBias: ReadonlyMap<TokenId, number>): TokenBias;
  dispose(): Promise<void>;
}

export interface ModelSequence extends Sequence {
  readonly native: LlamaContextSequence;
  /** The tenant whose tokens the sequence holds. Not reused for others, or response times would reveal a tenant's prompts. */
  cacheSalt: string | undefined;
}

const DEFAULT_SEQUENCES = 4;
const DEFAULT_MAX_CONTEXT_LENGTH = 32_768;
/** Checkpoints of one sequence, one per completion. The library's default is 32 of any size. */
const CHECKPOINTS = { max: 8, maxMemory: 256 * 1024 ** 2 };

/** Loads the model. If aborted, rejects with the signal's reason or with the library's error for it. */
export async function loadModel(
  options: LlamaModelOptions,
  signal: AbortSignal,
): Promise<LoadedModel> {
  signal.throwIfAborted();
  const { sequences = DEFAULT_SEQUENCES, contextLength, gpu = "auto" } = options;
  // The library's minimum is four. Threads wait for each other by spinning: with fewer cores than threads, a token took 800 ms
  // instead of 14.
  const threads = options.threads ?? availableParallelism();
  const library = await importLibrary().catch((error: unknown) => {
    expectModelFile(options.model);
    throw error;
  });
  const modelPath = await findModelFile(library.resolveModelFile, options, signal);
  options.onLoad?.(modelPath);
  // A server must not build llama.cpp from source at start: that takes minutes and a compiler.
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
      "The engine llama needs a package that is not installed or cannot be loaded. Run: " +
        toInstallCommand("node-llama-cpp"),
      { cause: error },
    );
  }
}

/**
 * Throws when the model has another vocabulary, in which our ids have other meanings.
 *
 * @param spell returns the model's text of an id, including special tokens.
 */
export function expectHarmonyTokens(spell: (id: TokenId) => string, model: string): void {
  for (const [name, id] of Object.entries(SPECIAL_TOKENS)) {
    const spelled = spell(id);
    if (spelled === name) continue;
    throw new EngineError(
      "not-found",
      `${model} is not a gpt-oss model: its token ${id} is ${JSON.stringify(spelled)} instead of ${name}.`,
    );
  }
}

function toSequence(native: LlamaContextSequence): ModelSequence {
  return {
    native,
    cacheSalt: undefined,
    nextTokenIndex: () => native.nextTokenIndex,
  };
}

/** Converts ids to the library's branded numbers. */
export function toTokens(ids: readonly TokenId[]): Token[] {
  return ids.filter((id): id is Token => Number.isInteger(id));
}

/**
 * Assigns completions to the sequences of the model's context.
 *
 * A sequence keeps the tokens it evaluated last, so a prompt that begins with them needs only the rest evaluated. A
 * prompt therefore gets the idle sequence with the longest common prefix. If that would discard more than half of the
 * sequence's tokens, it gets the sequence that has been idle longest instead: another conversation's cache is worth more
 * than a shared system message. Completions beyond the number of sequences wait.
 */
export interface Sequence {
  /** Number of tokens that the sequence holds. */
  nextTokenIndex(): number;
}

interface SequencePool<S extends Sequence> {
  /**
   * Waits for a sequence. Rejects with the signal's reason when it is aborted first.
   *
   * @param usable number of leading prompt tokens that a sequence holds.
   */
  acquire(usable: (sequence: S) => number, signal: AbortSignal): Promise<S>;
  release(sequence: S): void;
}

export function createSequencePool<S extends Sequence>(sequences: readonly S[]): SequencePool<S> {
  /** Idle sequences, longest idle first. */
  const idle = [...sequences];
  const waiting = new Set<Wait<S>>();

  return {
    async acquire(usable, signal) {
      signal.throwIfAborted();
      const chosen = choose(idle, usable);
      if (chosen !== undefined) {
        idle.splice(idle.indexOf(chosen), 1);
        return chosen;
      }
      const wait = new Wait<S>(signal, () => waiting.delete(wait));
      waiting.add(wait);
      return wait.promise;
    },
    release(sequence) {
      const [next] = waiting;
      if (next === undefined) idle.push(sequence);
      else next.grant(sequence);
    },
  };
}

function choose<S extends Sequence>(
  idle: readonly S[],
  usable: (sequence: S) => number,
): S | undefined {
  const shared = idle.map(usable);
  const most = Math.max(...shared);
  const best = idle[shared.indexOf(most)];
  return best !== undefined && most * 2 > best.nextTokenIndex() ? best : idle[0];
}
