/**
 * Markers: special tokens by id, or spelled out in text.
 *
 * Nine special tokens have a meaning. All other special tokens are reserved and dropped in either form.
 */
import { isSpecial, SPECIAL_TOKENS, specialTokenName } from "../tokenizer/special-tokens.ts";
import type { TokenId } from "../tokenizer/tokenizer.ts";

const MARKERS = [
  "start",
  "channel",
  "constrain",
  "message",
  "end",
  "call",
  "return",
  "startoftext",
  "endoftext",
] as const;

/** A special token with a meaning, named by the word between the bars. */
export type Marker = (typeof MARKERS)[number];

const MARKER_BY_ID: ReadonlyMap<TokenId, Marker> = new Map(
  MARKERS.map((marker) => [idOfMarker(marker), marker]),
);
const MARKER_BY_SPELLING: ReadonlyMap<string, Marker> = new Map(
  MARKERS.map((marker) => [`<|${marker}|>`, marker]),
);

/** Returns the marker of a special id; `undefined` for reserved, unknown and ordinary ids. */
export function markerOf(id: TokenId): Marker | undefined {
  return MARKER_BY_ID.get(id);
}

export function idOfMarker(marker: Marker): TokenId {
  return SPECIAL_TOKENS[`<|${marker}|>`];
}

/** One item that a scanner found. `spelling`: the text of the marker. */
export type Scanned =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "marker"; readonly marker: Marker; readonly spelling: string }
  | { readonly type: "reserved"; readonly spelling: string };

/** Finds spelled markers in text split anywhere. */
export class MarkerScanner {
  #waiting = "";

  /** Adds text. Returns the items that are certain; text that could begin a marker is held back. */
  push(text: string): Scanned[] {
    const { found, rest } = scan(this.#waiting + text);
    this.#waiting = rest;
    return found;
  }

  /** Returns the text held back: the beginning of a marker that was not completed. */
  end(): string {
    const rest = this.#waiting;
    this.#waiting = "";
    return rest;
  }
}

/** Whether held-back text is almost certainly an incomplete marker: `<|mess`, not `<`. */
export function isHalfMarker(waiting: string): boolean {
  return /^<\|[a-z]/.test(waiting);
}

/** The name of 200018 in tiktoken and Hugging Face. The Harmony library reserves this id. */
const END_OF_PROMPT = "<|endofprompt|>";
const SPELLED = new RegExp(`<\\|(?:${MARKERS.join("|")}|endofprompt|reserved_\\d{6})\\|>`, "g");
/** The length of `<|reserved_200500|>`, the longest spelling. */
const LONGEST_SPELLING = 19;

function scan(text: string): { found: Scanned[]; rest: string } {
  const found: Scanned[] = [];
  let from = 0;
  // Nearly all text needs only this comparison.
  if (text.includes("<|")) {
    for (const { 0: spelling, index } of text.matchAll(SPELLED)) {
      const marker = MARKER_BY_SPELLING.get(spelling);
      if (marker === undefined && !isReserved(spelling)) continue;
      if (index > from) found.push({ type: "text", text: text.slice(from, index) });
      found.push(
        marker === undefined
          ? { type: "reserved", spelling }
          : { type: "marker", marker, spelling },
      );
      from = index + spelling.length;
    }
  }
  const keep = waitingFrom(text, from);
  if (keep > from) found.push({ type: "text", text: text.slice(from, keep) });
  return { found, rest: text.slice(keep) };
}

/** Offset of the text to hold back: an incomplete marker or half a surrogate pair. */
function waitingFrom(text: string, from: number): number {
  let at = text.indexOf("<", Math.max(from, text.length - LONGEST_SPELLING + 1));
  while (at >= 0) {
    if (mayBecomeMarker(text.slice(at))) return at;
    at = text.indexOf("<", at + 1);
  }
  const last = text.charCodeAt(text.length - 1);
  return text.length > from && last >= 0xd800 && last <= 0xdbff ? text.length - 1 : text.length;
}

function mayBecomeMarker(tail: string): boolean {
  return (
    MARKERS.some((marker) => `<|${marker}|>`.startsWith(tail)) ||
    END_OF_PROMPT.startsWith(tail) ||
    "<|reserved_".startsWith(tail) ||
    /^<\|reserved_\d{1,6}$|^<\|reserved_\d{6}\|$/.test(tail)
  );
}

function isReserved(spelling: string): boolean {
  const id = Number(/\d+/.exec(spelling)?.[0]);
  return spelling === END_OF_PROMPT || (isSpecial(id) && specialTokenName(id) === spelling);
}
