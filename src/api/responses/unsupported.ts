/** What to do with tools, items and content that gpt-oss does not support. */
import { RequestError } from "../errors.ts";
import type { MediaRules } from "../request/media.ts";

export interface Unsupported {
  /** Tools and items of hosted kinds: left out, or answered with 400. */
  readonly kinds: "skip" | "refuse";
  /** Images and files. */
  readonly media: MediaRules;
}

/** Names the field and says what is wrong with it. */
export function refusal(param: string, problem: string): RequestError {
  return new RequestError(`${param}: ${problem}`, { param });
}
