/** Collects one completion for the doctor. Its size is bounded for any engine. */
import type { Clock } from "../engines/clock.ts";
import type {
  CompletionRequest,
  Engine,
  EngineFinish,
  EngineTokens,
  TokenLogprob,
} from "../engines/engine.ts";
import { consume } from "../streams/push-stream.ts";
import { isSpecial, o200kHarmony, specialTokenName, type TokenId } from "../tokenizer/index.ts";
import { countTokens } from "./prompts.ts";

export interface Completion {
  /** The form of the tokens received. `none`: there were no tokens. */
  readonly form: EngineTokens["type"] | "none";
  /** Sampled ids, if the engine returns them; with `pieces`, those of control tokens only. */
  readonly ids: readonly TokenId[];
  /** Everything received as text, with control tokens spelled out. */
  readonly text: string;
  /** Number of tokens: counted by ids or by the server; for plain text, by our tokenizer. */
  readonly tokens: number;
  readonly logprobs: readonly TokenLogprob[];
  /** The reads: milliseconds since the call, and the number of tokens in each. */
  readonly reads: readonly Read[];
  /** Absent: reading stopped before the end. */
  readonly finish: EngineFinish | undefined;
  /** The engine sent far more than was requested and was stopped. */
  readonly overran: boolean;
  /** Duration of the call in milliseconds. */
  readonly ms: number;
}

export interface Read {
  readonly ms: number;
  readonly tokens: number;
}

/** Tokens beyond the limit after which the doctor disconnects from an engine that does not stop. */
const TOLERATED_TOKENS = 64;
/** Limit for text, in characters per token of the limit, and the minimum. */
const CHARACTERS_PER_TOKEN = 64;
const LEAST_CHARACTERS = 8192;

/** @param leaveAfter number of tokens after which reading stops. */
export async function complete(
  engine: Engine,
  request: CompletionRequest,
  signal: AbortSignal,
  clock: Clock,
  leaveAfter = Infinity,
): Promise<Completion> {
  const collector = new Collector(request.maxTokens, clock);
  await consume(engine.complete(request, signal), (event) => {
    if (event.type === "open" || event.type === "progress") return true;
    if (event.type === "finish") {
      collector.finish = event;
      return false;
    }
    return collector.add(event) < leaveAfter;
  });
  return collector.toCompletion();
}

class Collector {
  finish: EngineFinish | undefined;
  readonly #maxTokens: number;
  readonly #clock: Clock;
  readonly #startedAt: number;
  readonly #ids: TokenId[] = [];
  readonly #logprobs: TokenLogprob[] = [];
  readonly #reads: Read[] = [];
  #form: Completion["form"] = "none";
  #text = "";
  #tokens = 0;
  #overran = false;

  constructor(maxTokens: number, clock: Clock) {
    this.#maxTokens = maxTokens;
    this.#clock = clock;
    this.#startedAt = clock.now();
  }

  /** The number of tokens so far; infinite if there are too many. */
  add(tokens: EngineTokens): number {
    this.#form = tokens.type;
    const before = this.#tokens;
    this.#tokens += this.#read(tokens);
    this.#reads.push({ ms: this.#ms(), tokens: this.#tokens - before });
    this.#overran =
      this.#tokens > this.#maxTokens + TOLERATED_TOKENS ||
      this.#text.length >= this.#mostCharacters;
    return this.#overran ? Infinity : this.#tokens;
  }

  get #mostCharacters(): number {
    return Math.max(LEAST_CHARACTERS, this.#maxTokens * CHARACTERS_PER_TOKEN);
  }

  #read(tokens: EngineTokens): number {
    switch (tokens.type) {
      case "ids":
        for (const id of tokens.ids) this.#ids.push(id);
        if (tokens.logprobs) this.#logprobs.push(...tokens.logprobs);
        return tokens.ids.length;
      case "pieces":
        for (const piece of tokens.pieces) {
          if ("special" in piece) this.#ids.push(piece.special);
          this.#text += "special" in piece ? (specialTokenName(piece.special) ?? "") : piece.text;
        }
        return tokens.counts.reduce((sum, count) => sum + count, 0);
      case "text":
        this.#text += tokens.text.slice(0, this.#mostCharacters);
        return tokens.tokens ?? countTokens(tokens.text.slice(0, this.#mostCharacters));
      default:
        return tokens satisfies never;
    }
  }

  toCompletion(): Completion {
    const said = this.finish?.usage?.completionTokens;
    return {
      form: this.#form,
      ids: this.#ids,
      text: this.#form === "ids" ? toText(this.#ids) : this.#text,
      // A server's count is more accurate than the sum over pieces of text.
      tokens: this.#form === "text" ? (said ?? countTokens(this.#text)) : this.#tokens,
      logprobs: this.#logprobs,
      reads: this.#reads,
      finish: this.finish,
      overran: this.#overran,
      ms: this.#ms(),
    };
  }

  #ms(): number {
    return this.#clock.now() - this.#startedAt;
  }
}

/** The text of ids. Unknown ids are printed as numbers. */
function toText(ids: readonly TokenId[]): string {
  const decoder = o200kHarmony().createDecoder();
  let text = "";
  for (const id of ids) {
    if (!isToken(id)) text += `${decoder.end()}[${id}]`;
    else if (isSpecial(id)) text += decoder.end() + (specialTokenName(id) ?? "");
    else text += decoder.push(id);
  }
  return text + decoder.end();
}

/** Whether the vocabulary has the id. */
function isToken(id: number): boolean {
  return Number.isInteger(id) && id >= 0 && id <= 201_087;
}

/** The text without its final control tokens and the white space after them. */
export function body({ text }: Completion): string {
  for (let end = text.length; ;) {
    const from = text.lastIndexOf("<|", end - 1);
    if (from === -1 || !/^<\|\w+\|>\s*$/.test(text.slice(from, end))) return text.slice(0, end);
    end = from;
  }
}

/** Milliseconds to the first token. Undefined: there were no tokens. */
export function firstTokenMs({ reads }: Completion): number | undefined {
  return reads[0]?.ms;
}
