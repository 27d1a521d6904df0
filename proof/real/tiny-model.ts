/** Requests to a server of the tiny model, and their results as text. */
import { GREEDY_SAMPLING } from "../../src/engines/sampling.ts";
import { z } from "zod";
import type { EngineKind } from "../../src/engines/create-engine.ts";
import type { CompletionRequest, Prompt } from "../../src/engines/engine.ts";
import { o200kHarmony } from "../../src/tokenizer/index.ts";
import { spelledIds } from "../../test/helpers/spelled.ts";
import { toIdsJson } from "../../src/tokenizer/ids-json.ts";

const ASKED = "<|start|>user<|message|>Hi<|end|><|start|>assistant";

const AND = 326;

/** `Hi` from the user, sampled greedily. */
export function tinyRequest(changes: Partial<CompletionRequest> = {}): CompletionRequest {
  return {
    prompt: toPrompt(spelledIds(ASKED)),
    maxTokens: 200,
    sampling: {
      ...GREEDY_SAMPLING,
      // Two words have almost the same probability: rounding on the server decides between them, and this one leads
      // into a loop.
      logitBias: new Map([[AND, -100]]),
    },
    stopIds: spelledIds("<|return|><|call|>"),
    requestId: "tiny",
    ...changes,
  };
}

/** The prompt with the answer opened. */
export function inFinal(): Prompt {
  return toPrompt(spelledIds(`${ASKED}<|channel|>final<|message|>`));
}

export function toPrompt(ids: readonly number[]): Prompt {
  return {
    length: ids.length,
    ids,
    idsJson: () => [toIdsJson(ids)],
    text: () => o200kHarmony().decode(ids),
  };
}

/** Number of requests the server is computing. Undefined if it does not report it. */
export async function countRunning(kind: EngineKind, url: string): Promise<number | undefined> {
  if (kind === "llama-cpp") {
    const response = await fetch(new URL("/slots", url));
    if (!response.ok) return undefined;
    const slots = z.array(z.object({ is_processing: z.boolean() })).parse(await response.json());
    return slots.filter((slot) => slot.is_processing).length;
  }
  const response = await fetch(new URL("/metrics", url));
  if (!response.ok) return undefined;
  const metrics = await response.text();
  const running = /^(?:vllm:num_requests_running|sglang:num_running_reqs)\{.*\} (\S+)$/m;
  const [, count] = running.exec(metrics) ?? [];
  return count === undefined ? undefined : Number(count);
}

export function never(): AbortSignal {
  return new AbortController().signal;
}
