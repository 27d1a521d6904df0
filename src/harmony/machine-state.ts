/**
 * The states of the Harmony state machine. They contain the machine's whole memory of its input; text that is already
 * assigned to a part is in `Parts`.
 *
 *     first-header ──▶ header ──<|message|>, or too long──▶ body ──<|end|> and the like──▶ between
 *                        ▲                                  │ <|call|>                       │
 *                        ├──────<|start|>── after-call ◀────┘                                │
 *                        └──────<|start|>, <|channel|>───────────────────────────────────────┘
 *
 * `stripped` is a header or a body in text whose markers an engine has removed. Every state can change to `ended`.
 */
import type { Header, HeaderSection } from "./header.ts";
import type { LostHeaderSplitter } from "./lost-markers.ts";

export type State = FirstHeader | Between | AfterCall | OpenHeader | Body | Stripped | Ended;

/** Ordinary text whose meaning is not known yet. */
interface Undecided {
  text: string;
  tokens: number;
  /** Characters after which its meaning is decided. */
  limit: number;
}

/** Only text has been read since the header that the prompt opened: header words, or text without a header. */
export interface FirstHeader extends Undecided {
  readonly at: "first-header";
}

/** No message is open. The text is a header without its first marker, or text outside messages. */
export interface Between extends Undecided {
  readonly at: "between";
  /** The end of the last message, which determines the allowed input. */
  readonly last: "call" | "return" | "other";
}

/** `<|call|>` has ended a call. Only a further complete call is accepted now. */
interface AfterCall {
  readonly at: "after-call";
}

export interface OpenHeader extends Header {
  readonly at: "header";
  readonly sections: { readonly after: HeaderSection["after"]; text: string }[];
  /** Characters so far. A marker counts `MARKER_LENGTH`, so that any number of them is bounded, too. */
  length: number;
  tokens: number;
  readonly isAfterCall: boolean;
}

export interface Body {
  readonly at: "body";
  readonly kind: "part" | "skipped";
  readonly isAfterCall: boolean;
}

/** Text whose markers were removed. It is split at the header words that are left. */
interface Stripped {
  readonly at: "stripped";
  readonly splitter: LostHeaderSplitter;
  /** The state as if the markers were present. */
  inner: OpenHeader | Body;
}

/** The turn is over. */
export interface Ended {
  readonly at: "ended";
  /**
   * Whether further output is not recorded, because the end itself was a repair, or output has been recorded already.
   */
  isExpected: boolean;
}

/** Characters that a marker counts in the length of a header. */
export const MARKER_LENGTH = 8;

export function firstHeader(limit: number): FirstHeader {
  return { at: "first-header", text: "", tokens: 0, limit };
}

export function between(last: Between["last"], limit: number): Between {
  return { at: "between", text: "", tokens: 0, limit, last };
}

/** Reads text that was held back as a header. */
export function toHeader({ at, text }: FirstHeader | Between): Header {
  const opener = at === "first-header" ? "prompt" : "nothing";
  return { opener, sections: [{ after: "start", text }] };
}

/** The part of a message to which the next token belongs. */
export function positionOf(state: State): "between" | "header" | "body" {
  switch (state.at) {
    case "first-header":
    case "header":
      return "header";
    case "body":
      return "body";
    case "stripped":
      return state.inner.at;
    case "between":
    case "after-call":
    case "ended":
      return "between";
    default:
      return state satisfies never;
  }
}
