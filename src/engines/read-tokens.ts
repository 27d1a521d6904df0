/** Tokens that a reader has read and not delivered yet: ids with log probabilities, or text. */
import type { TokenId } from "../tokenizer/tokenizer.ts";
import { type EngineTokens, type EngineUsage, NO_LOGPROB, type TokenLogprob } from "./engine.ts";

export class ReadTokens {
  ids: TokenId[] = [];
  text = "";
  /** One entry for each id, otherwise they are left out. */
  logprobs: TokenLogprob[] = [];
  #lastId: TokenId | undefined;

  /** The last id, even if it was delivered. */
  get lastId(): TokenId | undefined {
    return this.ids.at(-1) ?? this.#lastId;
  }

  /** Adds a stop token that the server reports separately from the ids. */
  addStopId(id: TokenId, hasLogprobs: boolean): void {
    this.ids.push(id);
    // A placeholder, which clients never see, keeps the list parallel to the ids.
    if (hasLogprobs) this.logprobs.push({ id, logprob: NO_LOGPROB, top: [] });
  }

  drain(): Exclude<EngineTokens, { type: "pieces" }> | undefined {
    const { ids, logprobs, text } = this;
    if (ids.length > 0) {
      this.#lastId = ids.at(-1);
      this.ids = [];
      if (logprobs.length === 0) return { type: "ids", ids };
      this.logprobs = [];
      // The list is omitted unless the server sent one entry for each token.
      return logprobs.length === ids.length ? { type: "ids", ids, logprobs } : { type: "ids", ids };
    }
    if (text === "") return undefined;
    this.text = "";
    return { type: "text", text };
  }
}

type Count = number | null | undefined;

/** The counts that a server has reported. Null means absent. */
export function toUsage(prompt: Count, cached: Count, completion: Count): EngineUsage {
  return {
    ...(prompt != null && { promptTokens: prompt }),
    ...(cached != null && { cachedTokens: cached }),
    ...(completion != null && { completionTokens: completion }),
  };
}
