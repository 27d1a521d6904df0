/** The progress of an engine with the prompt of a streamed answer, for clients that wait for its first token. */
import type { PrefillProgress } from "../../turn/turn.ts";
import { END_OF_FRAME, KEEP_ALIVE } from "./event-stream.ts";

/** The latest progress, shown in keep-alives until the answer begins. */
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

/**
 * The progress in llama-server's format, as the JSON text of a member. Clients derive the true progress from the tokens
 * that were not cached.
 */
export function progressMember({ total, cached, processed, elapsedMs }: PrefillProgress): string {
  return `"prompt_progress":${JSON.stringify({ total, cache: cached, processed, time_ms: elapsedMs })}`;
}
