/**
 * The demo engine: a few rules instead of a model, built in. It is what a newcomer meets first, and what
 * tests and Workers use. It reads the prompt's ids, as a model does, and continues them in honest Harmony;
 * the same prompt always gets the same answer.
 *
 * It **thinks**, the longer the higher the reasoning effort, and says what it is going to do. Then it
 * **calls every offered tool that the last user message mentions**, in that order, one call after the
 * other and a new thought before each (`plan.ts` has the rules: by its name, as often as it is
 * spelled, or else by a word of its name). Arguments satisfy the signature and come from the user's
 * words or from earlier results where they fit. When nothing is left to call, or nothing was mentioned,
 * it **answers**: with what the tools returned, with JSON when the developer message asks for a response
 * format, else with what it heard.
 *
 * The one engine that knows Harmony and the tokenizer: it stands in for a model as well as for a server.
 */
import { SPECIAL_TOKENS, type TokenId } from "../tokenizer/index.ts";
import { composeTurn } from "./demo/compose.ts";
import { readPrompt } from "./demo/prompt.ts";
import { writeScript } from "./demo/script.ts";
import type {
  Capabilities,
  CompletionRequest,
  Engine,
  EngineEvent,
  TokenLogprob,
} from "./engine.ts";
import { sleep } from "../streams/timers.ts";

export interface DemoEngineOptions {
  /** How fast it writes. Absent: as fast as it can. */
  readonly tokensPerSecond?: number;
}

const CAPABILITIES: Capabilities = {
  idsIn: true,
  idsOut: "exact",
  stopIdVisible: true,
  stopIds: true,
  constraints: ["json-schema", "json-object", "choice"],
  logprobs: true,
  sampling: ["seed"],
};

const END_OF_GENERATION: readonly TokenId[] = [
  SPECIAL_TOKENS["<|return|>"],
  SPECIAL_TOKENS["<|call|>"],
  SPECIAL_TOKENS["<|endoftext|>"],
];

/** Tokens in one read when it does not have to wait. */
const BATCH_SIZE = 16;

export function createDemoEngine({ tokensPerSecond }: DemoEngineOptions = {}): Engine {
  return {
    name: "demo",
    capabilities: CAPABILITIES,
    probe: async () => ({
      description: "demo engine, built in",
      contextLength: 131_072,
      capabilities: CAPABILITIES,
    }),
    async *complete(request, signal): AsyncGenerator<EngineEvent> {
      signal.throwIfAborted();
      const { ids, reason } = sample(request);
      yield { type: "open" };
      const batchSize = tokensPerSecond === undefined ? BATCH_SIZE : 1;
      for (let at = 0; at < ids.length; at += batchSize) {
        if (tokensPerSecond !== undefined) await sleep(1000 / tokensPerSecond, signal);
        signal.throwIfAborted();
        const batch = ids.slice(at, at + batchSize);
        yield { type: "ids", ids: batch, ...logprobsOf(batch, request.topLogprobs) };
      }
      signal.throwIfAborted();
      yield {
        type: "finish",
        reason,
        nativeReason: reason,
        usage: {
          promptTokens: request.prompt.ids.length,
          cachedTokens: 0,
          completionTokens: ids.length,
        },
      };
    },
  };
}

function sample(request: CompletionRequest): { ids: TokenId[]; reason: "stop" | "length" } {
  const prompt = readPrompt(request.prompt.ids);
  const script = writeScript(prompt, request.sampling.seed ?? 0);
  const turn = composeTurn(prompt, script, request.constraint);
  const stopIds = new Set([...END_OF_GENERATION, ...request.stopIds]);
  const stop = turn.findIndex((id) => stopIds.has(id));
  return stop < request.maxTokens
    ? { ids: turn.slice(0, stop + 1), reason: "stop" }
    : { ids: turn.slice(0, request.maxTokens), reason: "length" };
}

/** Made up, but plausible: what was written is likely, each alternative is less likely than the one before. */
function logprobsOf(
  ids: readonly TokenId[],
  topLogprobs: number | undefined,
): { logprobs?: TokenLogprob[] } {
  if (topLogprobs === undefined) return {};
  return {
    logprobs: ids.map((id) => {
      const logprob = -((id % 97) + 1) / 1000;
      const top = Array.from({ length: topLogprobs }, (_, rank) => ({
        id: rank === 0 ? id : (id * 31 + rank * 7919) % SPECIAL_TOKENS["<|startoftext|>"],
        logprob: logprob - rank * 2.5,
      }));
      return { id, logprob, top };
    }),
  };
}
