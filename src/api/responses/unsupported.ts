/** What to do with tools, items and content that gpt-oss does not support. */
import type { MediaRules } from "../request/media.ts";

export interface Unsupported {
  /** Tools and items of hosted kinds: left out, or answered with 400. */
  readonly kinds: "skip" | "refuse";
  /** Images and files. */
  readonly media: MediaRules;
}
