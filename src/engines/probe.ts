/** Detects the features of a server by sampling one token. */
import { GREEDY_SAMPLING } from "./sampling.ts";
import { SPECIAL_TOKENS, specialTokenName } from "../tokenizer/special-tokens.ts";
import { toIdsJson } from "../tokenizer/ids-json.ts";
import type { TokenId } from "../tokenizer/tokenizer.ts";
import { EngineError } from "./engine-error.ts";
import type { Capabilities, CompletionRequest, Engine, Prompt } from "./engine.ts";
import type { Sampling } from "./sampling.ts";
import { END_OF_GENERATION } from "./request-body.ts";

const {
  "<|start|>": START,
  "<|message|>": MESSAGE,
  "<|end|>": END,
  "<|return|>": RETURN,
} = SPECIAL_TOKENS;

/** `<|start|>user<|message|>`, the shortest prompt that is valid Harmony. */
const PROMPT_IDS = [START, 1428, MESSAGE];

const PROMPT: Prompt = {
  length: PROMPT_IDS.length,
  ids: PROMPT_IDS,
  idsJson: () => [toIdsJson(PROMPT_IDS)],
  text: () => "<|start|>user<|message|>",
};

/** A prompt that gpt-oss nearly always continues with `<|channel|>analysis`. */
const TURN_IDS = [START, 1428, MESSAGE, 12194, END, START, 173781];

const TURN: Prompt = {
  length: TURN_IDS.length,
  ids: TURN_IDS,
  idsJson: () => [toIdsJson(TURN_IDS)],
  text: () => "<|start|>user<|message|>Hi<|end|><|start|>assistant",
};

/** Maximum characters of a header: more than this number of tokens can have. */
const MAX_HEADER_CHARS = 1024;
/** Maximum reads of one token: an engine that sends more ignores its limit. */
const MAX_READS = 64;

/** Maximum tokens of the probe: a header's marker and channel, or the channel alone. */
const HEADER_TOKENS = 4;

/**
 * Detects the form in which tokens arrive, and whether the token that ends a completion is included. The sampled token is biased
 * towards `<|return|>`, so that one token answers both.
 */
export async function probeTokens(
  engine: Engine,
  { provesHeader }: ProbeOptions,
  signal: AbortSignal,
): Promise<ProbedTokens> {
  const { sawMarker, ...found } = await probeEnd(engine, signal);
  if (!provesHeader && (sawMarker || found.idsOut !== "none")) {
    return found.idsOut === "none" ? { ...found, showsMarkers: true } : found;
  }
  const header = await probeHeader(engine, signal);
  // The text of another model may imitate any marker of the prompt, its ids belong to another vocabulary.
  const proof = found.idsOut === "none" ? HEADER : MARKER;
  const isOther = provesHeader && header !== "" && !proof.test(header);
  const continuation = isOther ? { continuation: NO_HEADER } : {};
  if (found.idsOut !== "none") return { ...found, ...continuation };
  if (sawMarker || MARKER.test(header)) return { ...found, ...continuation, showsMarkers: true };
  return HEADER.test(header) ? { ...found, idsOut: "unmarked" } : { ...found, ...continuation };
}

export interface ProbeOptions {
  /** The model's name does not identify it as gpt-oss, so its output must. */
  readonly provesHeader: boolean;
}

export interface ProbedTokens extends Pick<
  Capabilities,
  "idsOut" | "stopIdVisible" | "showsMarkers"
> {
  /** Evidence of another model, from the probe's output. */
  readonly continuation?: string;
}

const NO_HEADER = "it continues <|start|>assistant without <|channel|>";

/** The start of a header: with markers, with plain words, or with a recipient before the channel. */
const HEADER = /<\|channel\|>|^\s*(?:analysis|commentary|final|to=)/;

/** The beginning of a message as text; control tokens are spelled, other ids are `?`. */
async function probeHeader(engine: Engine, signal: AbortSignal): Promise<string> {
  let text = "";
  const request = toRequest(TURN, HEADER_TOKENS, GREEDY_SAMPLING);
  for await (const event of engine.complete(request, signal)) {
    if (event.type === "text") text += event.text.slice(0, MAX_HEADER_CHARS);
    if (event.type === "ids") text += event.ids.slice(0, MAX_READS).map(spell).join("");
    if (event.type === "pieces") {
      for (const piece of event.pieces.slice(0, MAX_READS)) {
        text += "special" in piece ? spell(piece.special) : piece.text.slice(0, MAX_HEADER_CHARS);
      }
    }
    // The engine ignores its limit.
    if (text.length >= MAX_HEADER_CHARS) break;
  }
  return text;
}

function spell(id: TokenId): string {
  return specialTokenName(id) ?? "?";
}

async function probeEnd(engine: Engine, signal: AbortSignal): Promise<Sampled> {
  if (!engine.capabilities.sampling.includes("logitBias"))
    return sampleOne(engine, GREEDY_SAMPLING, signal);
  try {
    return await sampleOne(
      engine,
      { ...GREEDY_SAMPLING, logitBias: new Map([[RETURN, 100]]) },
      signal,
    );
  } catch (error) {
    // TensorRT-LLM refuses a bias if it was started without a tokenizer.
    if (!(error instanceof EngineError) || error.kind !== "bad-request") throw error;
    return sampleOne(engine, GREEDY_SAMPLING, signal);
  }
}

const MARKER = /<\|\w+\|>/;

interface Sampled extends Pick<Capabilities, "idsOut" | "stopIdVisible"> {
  /** The text contains a control token. */
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
  let reads = 0;
  for await (const event of engine.complete(request, signal)) {
    reads += 1;
    if (reads > MAX_READS) break;
    switch (event.type) {
      case "open":
      case "progress":
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
        // At `length` the bias had no effect: the result contains no evidence about stop tokens.
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
