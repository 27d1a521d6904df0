/**
 * Where the Harmony state machine stands. Everything it remembers of what came before is in here; what it
 * has read already is with `Parts`.
 *
 *     first-header ──▶ header ──<|message|>, or too long──▶ body ──<|end|> and the like──▶ between
 *                        ▲                                  │ <|call|>                       │
 *                        ├──────<|start|>── after-call ◀────┘                                │
 *                        └──────<|start|>, <|channel|>───────────────────────────────────────┘
 *
 * `stripped` is a header or a body whose markers an engine has hidden. Every state can go over into `ended`.
 */
import type { Header, HeaderSection } from "./header.ts";
import type { LostHeaderSplitter } from "./lost-markers.ts";

export type State = FirstHeader | Between | AfterCall | OpenHeader | Body | Stripped | Ended;

/** Ordinary text, of which it must be found out what it is. */
interface Undecided {
  text: string;
  tokens: number;
  /** Characters after which it must be known. */
  limit: number;
}

/** Nothing but text has come since the header that the prompt opened: header words, or text that has no header. */
export interface FirstHeader extends Undecided {
  readonly at: "first-header";
}

/** No message is open: the words of a header without a marker, or text outside messages. */
export interface Between extends Undecided {
  readonly at: "between";
  /** How the last message ended, for what may follow. */
  readonly last: "call" | "return" | "other";
}

/** `<|call|>` has ended a call: nothing but a further complete call is the model's to write. */
export interface AfterCall {
  readonly at: "after-call";
}

export interface OpenHeader extends Header {
  readonly at: "header";
  readonly sections: { readonly after: HeaderSection["after"]; text: string }[];
  /** Characters so far; a marker counts as some, so that a flood of them ends as well. */
  length: number;
  tokens: number;
  readonly isAfterCall: boolean;
}

export interface Body {
  readonly at: "body";
  readonly kind: "part" | "call" | "skipped";
  readonly isAfterCall: boolean;
}

/** Text whose markers were stripped is cut at the words of the headers that are left. */
export interface Stripped {
  readonly at: "stripped";
  readonly splitter: LostHeaderSplitter;
  /** Where the text would stand if its markers had come. */
  inner: OpenHeader | Body;
}

/** The turn is over. */
export interface Ended {
  readonly at: "ended";
  /** What comes now is no surprise: the end itself was a repair, or something has come before. */
  isExpected: boolean;
}

export function firstHeader(limit: number): FirstHeader {
  return { at: "first-header", text: "", tokens: 0, limit };
}

export function between(last: Between["last"], limit: number): Between {
  return { at: "between", text: "", tokens: 0, limit, last };
}

/** What a text that waited would be as a header. */
export function toHeader({ at, text }: FirstHeader | Between): Header {
  const opener = at === "first-header" ? "prompt" : "nothing";
  return { opener, sections: [{ after: "start", text }] };
}

/** Where the next token would stand. */
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
