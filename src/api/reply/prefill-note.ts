/** How far an engine is with the prompt of a streamed answer, for clients that wait for its first token. */
import type { PrefillProgress } from "../../turn/turn.ts";
import { END_OF_FRAME, KEEP_ALIVE } from "./event-stream.ts";

/** The latest progress. It stands in keep-alives until the answer begins. */
export class PrefillNote {
  #latest: PrefillProgress | undefined;

  note(progress: PrefillProgress): void {
    this.#latest = progress;
  }

  clear(): void {
    this.#latest = undefined;
  }

  /** A comment, which clients ignore and people see: `: prompt 12288/48000`. */
  readonly keepAlive = (): string => {
    if (this.#latest === undefined) return KEEP_ALIVE;
    const { processed, total } = this.#latest;
    return `: prompt ${processed}/${total}${END_OF_FRAME}`;
  };
}

/** As llama-server sends it, as JSON text of a member. True progress is that of the tokens which were not cached. */
export function progressMember({ total, cached, processed, elapsedMs }: PrefillProgress): string {
  return `"prompt_progress":${JSON.stringify({ total, cache: cached, processed, time_ms: elapsedMs })}`;
}
