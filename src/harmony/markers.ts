/**
 * Markers: the special tokens as the parser sees them, by id or spelled out in text.
 *
 * Nine special tokens mean something. All others are reserved: a model that samples one has said nothing
 * by it, so it is dropped in either form.
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

/** The meaning of a special id; `undefined` for reserved, unknown and ordinary ids. */
export function markerOf(id: TokenId): Marker | undefined {
  return MARKER_BY_ID.get(id);
}

export function idOfMarker(marker: Marker): TokenId {
  return SPECIAL_TOKENS[`<|${marker}|>`];
}

/** What a scanner found, in order. `spelling` is what stood in the text. */
export type Scanned =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "marker"; readonly marker: Marker; readonly spelling: string }
  | { readonly type: "reserved"; readonly spelling: string };

export interface MarkerScanner {
  /** What this text proves. Text that may be the beginning of a marker waits for the next push. */
  push(text: string): Scanned[];
  /** The text that waited: the beginning of a marker that did not come. */
  end(): string;
}

/** Finds markers spelled out in text that comes in any pieces. */
export function createMarkerScanner(): MarkerScanner {
  let waiting = "";
  return {
    push(text) {
      const { found, rest } = scan(waiting + text);
      waiting = rest;
      return found;
    },
    end() {
      const rest = waiting;
      waiting = "";
      return rest;
    },
  };
}

/** Whether a waiting text can hardly be anything but a marker cut short: `<|mess`, not `<`. */
export function isHalfMarker(waiting: string): boolean {
  return /^<\|[a-z]/.test(waiting);
}

/** What tiktoken and Hugging Face call 200018, which the Harmony library reserves. */
const END_OF_PROMPT = "<|endofprompt|>";
const SPELLED = new RegExp(`<\\|(?:${MARKERS.join("|")}|endofprompt|reserved_\\d{6})\\|>`, "g");
/** The length of `<|reserved_200500|>`, the longest spelling. */
const LONGEST_SPELLING = 19;

function scan(text: string): { found: Scanned[]; rest: string } {
  const found: Scanned[] = [];
  let from = 0;
  // Nearly all text is done with this one comparison.
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

/** Where the text begins that must wait: half a marker, or half a surrogate pair. */
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
