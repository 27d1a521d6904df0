/**
 * Counts the outcomes of a request's images. The counts grow while the turn runs, because its tools may return images.
 */
import type { ResponseHeaders } from "../../telemetry/response-headers.ts";

export class MediaCounts {
  described = 0;
  cached = 0;
  failed = 0;
  /** Tokens of the vision model, prompts and descriptions together. */
  tokens = 0;

  get isEmpty(): boolean {
    return this.described + this.cached + this.failed === 0;
  }

  toString(): string {
    return `described=${this.described}, cached=${this.cached}, failed=${this.failed}`;
  }
}

/** Empty: the request has no images, or none are described. */
export function mediaHeader(counts: MediaCounts): ResponseHeaders {
  return counts.isEmpty ? {} : { "x-harmony-media": counts.toString() };
}
