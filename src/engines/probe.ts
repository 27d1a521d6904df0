/** Learns what a server can do by asking it for one token. */
import { SPECIAL_TOKENS } from "../tokenizer/special-tokens.ts";
import type { TokenId } from "../tokenizer/tokenizer.ts";
import { EngineError } from "./engine-error.ts";
import type { Capabilities, CompletionRequest, Engine, Prompt, Sampling } from "./engine.ts";
import { END_OF_GENERATION } from "./request-body.ts";

const { "<|start|>": START, "<|message|>": MESSAGE, "<|return|>": RETURN } = SPECIAL_TOKENS;

/** `<|start|>user<|message|>`, as short as a prompt can be and still make sense to the model. */
const PROMPT_IDS = [START, 1428, MESSAGE];

const PROMPT: Prompt = {
  ids: PROMPT_IDS,
  idsJson: () => PROMPT_IDS.join(","),
  text: () => "<|start|>user<|message|>",
};

const GREEDY: Sampling = {
  temperature: 0,
  topP: 1,
  topK: 0,
  minP: 0,
  frequencyPenalty: 0,
  presencePenalty: 0,
  repetitionPenalty: 1,
};

/**
 * In what form tokens come out, and whether the one that ends a completion does. The sampled token is
 * biased towards `<|return|>`, so that one token answers both questions.
 */
export async function probeTokens(
  engine: Engine,
  signal: AbortSignal,
): Promise<Pick<Capabilities, "idsOut" | "stopIdVisible">> {
  if (!engine.capabilities.sampling.includes("logitBias")) return sampleOne(engine, GREEDY, signal);
  try {
    return await sampleOne(engine, { ...GREEDY, logitBias: new Map([[RETURN, 100]]) }, signal);
  } catch (error) {
    // TensorRT-LLM takes no bias when it was started without a tokenizer.
    if (!(error instanceof EngineError) || error.kind !== "bad-request") throw error;
    return sampleOne(engine, GREEDY, signal);
  }
}

async function sampleOne(
  engine: Engine,
  sampling: Sampling,
  signal: AbortSignal,
): Promise<Pick<Capabilities, "idsOut" | "stopIdVisible">> {
  const request: CompletionRequest = {
    prompt: PROMPT,
    maxTokens: 1,
    sampling,
    stopIds: [],
    requestId: "probe",
  };
  let { idsOut, stopIdVisible } = engine.capabilities;
  let sawStopId = false;
  for await (const event of engine.complete(request, signal)) {
    switch (event.type) {
      case "open":
        break;
      case "ids":
        idsOut = "exact";
        sawStopId ||= event.ids.some(endsGeneration);
        break;
      case "pieces":
        idsOut = "lossy";
        sawStopId ||= event.pieces.some(
          (piece) => "special" in piece && endsGeneration(piece.special),
        );
        break;
      case "text":
        idsOut = "none";
        sawStopId ||= /<\|(return|call|endoftext)\|>/.test(event.text);
        break;
      case "finish":
        // At `length` the bias had no effect, and nothing was learnt.
        if (event.reason === "stop") stopIdVisible = sawStopId;
        break;
    }
  }
  return { idsOut, stopIdVisible };
}

function endsGeneration(id: TokenId): boolean {
  return END_OF_GENERATION.includes(id);
}
