/**
 * The demo engine: built-in rules instead of a model, for trying the gateway, for tests and for Workers. It
 * reads the prompt's ids, as a model does, and continues them in valid Harmony. The same prompt always gets
 * the same answer.
 *
 * It **reasons**, at greater length the higher the reasoning effort, and announces its plan. Then it **calls every offered tool
 * that the last user message mentions**, in that order, one call after the other, with new reasoning before each (`plan.ts` has
 * the rules: tools match by name, once per occurrence, or else by a word of the name), preceded by the tools that the
 * instructions always require. Arguments satisfy the signature and come from the user's words or from earlier results if they
 * fit. When no call is left, or no tool was mentioned, it **answers**: with the tools' results, with JSON if there is a response
 * format or a JSON Schema in the prompt, else with a summary of the prompt.
 *
 * The only engine that uses Harmony and the tokenizer: it replaces the model as well as the server.
 */
import { SPECIAL_TOKENS, type TokenId } from "../tokenizer/index.ts";
import { composeTurn } from "./demo/compose.ts";
import { readPrompt } from "./demo/prompt.ts";
import { Script } from "./demo/script.ts";
import type {
  Capabilities,
  CompletionRequest,
  Engine,
  EngineEvent,
  TokenLogprob,
} from "./engine.ts";
import { toStopIds } from "./request-body.ts";
import { sleep } from "../streams/timers.ts";

export interface DemoEngineOptions {
  /** Output speed. Absent: unlimited. */
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

/** Tokens in one event when the speed is unlimited. */
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
  const script = new Script(prompt, request.sampling.seed ?? 0);
  const turn = composeTurn(prompt, script, request.constraint);
  const stopIds = new Set(toStopIds(request));
  const stop = turn.findIndex((id) => stopIds.has(id));
  return stop < request.maxTokens
    ? { ids: turn.slice(0, stop + 1), reason: "stop" }
    : { ids: turn.slice(0, request.maxTokens), reason: "length" };
}

/** Synthetic log probabilities: the sampled token is likely, each alternative less likely than the one before. */
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
