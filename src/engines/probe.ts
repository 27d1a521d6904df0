/** Learns what a server can do by asking it for one token. */
import { SPECIAL_TOKENS } from "../tokenizer/special-tokens.ts";
import type { TokenId } from "../tokenizer/tokenizer.ts";
import { EngineError } from "./engine-error.ts";
import type { Capabilities, CompletionRequest, Engine, Prompt, Sampling } from "./engine.ts";
import { END_OF_GENERATION } from "./request-body.ts";

const {
  "<|start|>": START,
  "<|message|>": MESSAGE,
  "<|end|>": END,
  "<|return|>": RETURN,
} = SPECIAL_TOKENS;

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

/** Where the model's answer to a first word begins: with `<|channel|>analysis`, or nearly always so. */
const TURN_IDS = [START, 1428, MESSAGE, 12194, END, START, 173781];

const TURN: Prompt = {
  ids: TURN_IDS,
  idsJson: () => TURN_IDS.join(","),
  text: () => "<|start|>user<|message|>Hi<|end|><|start|>assistant",
};

/** Enough to see a header's marker and its channel, or the channel alone. */
const HEADER_TOKENS = 4;

/**
 * In what form tokens come out, and whether the one that ends a completion does. The sampled token is
 * biased towards `<|return|>`, so that one token answers both questions.
 */
export async function probeTokens(
  engine: Engine,
  signal: AbortSignal,
): Promise<Pick<Capabilities, "idsOut" | "stopIdVisible" | "showsMarkers">> {
  const { sawMarker, ...found } = await probeEnd(engine, signal);
  if (found.idsOut !== "none") return found;
  const markers = sawMarker ? "shown" : await probeHeader(engine, signal);
  if (markers === "shown") return { ...found, showsMarkers: true };
  return markers === "hidden" ? { ...found, idsOut: "unmarked" } : found;
}

/** Whether a header comes with its markers, or as its words alone. Anything else tells nothing. */
async function probeHeader(
  engine: Engine,
  signal: AbortSignal,
): Promise<"shown" | "hidden" | "unknown"> {
  let text = "";
  const request = toRequest(TURN, HEADER_TOKENS, GREEDY);
  for await (const event of engine.complete(request, signal)) {
    if (event.type === "text") text += event.text;
  }
  if (MARKER.test(text)) return "shown";
  return /^\s*(?:analysis|commentary|final)/.test(text) ? "hidden" : "unknown";
}

async function probeEnd(engine: Engine, signal: AbortSignal): Promise<Sampled> {
  if (!engine.capabilities.sampling.includes("logitBias")) return sampleOne(engine, GREEDY, signal);
  try {
    return await sampleOne(engine, { ...GREEDY, logitBias: new Map([[RETURN, 100]]) }, signal);
  } catch (error) {
    // TensorRT-LLM takes no bias when it was started without a tokenizer.
    if (!(error instanceof EngineError) || error.kind !== "bad-request") throw error;
    return sampleOne(engine, GREEDY, signal);
  }
}

const MARKER = /<\|\w+\|>/;

interface Sampled extends Pick<Capabilities, "idsOut" | "stopIdVisible"> {
  /** A control token was spelled out. */
  readonly sawMarker: boolean;
}

async function sampleOne(
  engine: Engine,
  sampling: Sampling,
  signal: AbortSignal,
): Promise<Sampled> {
  const request = toRequest(PROMPT, 1, sampling);
  let { idsOut, stopIdVisible } = engine.capabilities;
  let sawStopId = false;
  let sawMarker = false;
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
        sawMarker ||= MARKER.test(event.text);
        break;
      case "finish":
        // At `length` the bias had no effect, and nothing was learnt.
        if (event.reason === "stop") stopIdVisible = sawStopId;
        break;
    }
  }
  return { idsOut, stopIdVisible, sawMarker };
}

function toRequest(prompt: Prompt, maxTokens: number, sampling: Sampling): CompletionRequest {
  return { prompt, maxTokens, sampling, stopIds: [], requestId: "probe", tenant: "" };
}

function endsGeneration(id: TokenId): boolean {
  return END_OF_GENERATION.includes(id);
}
