/**
 * What the model wrote, as events: the incremental Harmony parser (rule T1; the others are in
 * `machine.ts`, `header.ts` and `arguments.ts`).
 *
 * A synchronous push machine that never throws. It takes token ids, text with the markers spelled out,
 * or pieces in which only the special tokens are ids, in any mixture and cut anywhere, and gives the
 * events it can already prove.
 */
import { FIRST_SPECIAL_ID } from "../tokenizer/special-tokens.ts";
import type { StreamingDecoder, TokenId, Tokenizer } from "../tokenizer/tokenizer.ts";
import { Machine } from "./machine.ts";
import type { MachineOptions } from "./machine.ts";
import { createMarkerScanner, isHalfMarker, markerOf } from "./markers.ts";
import type { Scanned } from "./markers.ts";
import type { BodyTokens, ParseEvent, PartKind } from "./parts.ts";
import { createOfferedNames } from "./recipient.ts";
import type { Recovery } from "./recoveries.ts";

export type { BodyTokens, ParseEvent, PartHeader, PartKind } from "./parts.ts";
export type { Recovery } from "./recoveries.ts";

export interface ParserOptions {
  /** Names of the functions offered. Empty, the default: the request had no tools, so nothing is a call. */
  readonly toolNames?: readonly string[];
  /**
   * Characters after which a header, or text outside messages, is taken for a body and goes out.
   * Default 400: longer than any honest header, short enough for an answer that has none.
   */
  readonly maxHeaderLength?: number;
  /**
   * Characters that may wait where rules ask for it: text that began with a lost header, a call
   * after a call, text outside messages. Default 16384.
   */
  readonly maxHeldLength?: number;
  /**
   * `hidden`: the engine is known to leave markers out of its text, so the words of headers are headers wherever
   * they stand. Default `shown`: only words that nobody would write are.
   */
  readonly markers?: "shown" | "hidden";
}

/** A special token by its id, or ordinary text in which nothing is a marker. */
export type ParserPiece = { readonly special: TokenId } | { readonly text: string };

export interface Parser {
  /**
   * Only special ids are structure; markers spelled with ordinary tokens are text, unless the completion
   * knows no others (rule T1).
   */
  pushIds(ids: readonly TokenId[]): ParseEvent[];
  /** Every spelled marker is structure. */
  pushText(text: string): ParseEvent[];
  /** For engines that give special tokens by id and the rest as text: read as ids are. */
  pushPieces(pieces: readonly ParserPiece[]): ParseEvent[];
  /** Nothing more comes. `length`: the engine reached a limit, so what is open was cut. */
  end(reason: "stop" | "length"): ParseEvent[];
  /** The turn is over: whatever the engine still writes belongs to nobody. */
  readonly done: boolean;
  /** Where the next token would stand. */
  readonly position: "between" | "header" | "body";
  readonly openPart: PartKind | undefined;
  /** Ordinary ids in bodies so far. Text and pieces count nothing. */
  readonly tokens: BodyTokens;
  /** The repairs made so far and how often, in order of first use. */
  readonly recoveries: ReadonlyMap<Recovery, number>;
}

/** A parser that stands right behind `<|start|>assistant`. */
export function createParser(tokenizer: Tokenizer, options: ParserOptions = {}): Parser {
  const {
    toolNames = [],
    maxHeaderLength = 400,
    maxHeldLength = 16_384,
    markers = "shown",
  } = options;
  return new HarmonyParser(tokenizer, {
    offered: createOfferedNames(toolNames),
    hidesMarkers: markers === "hidden",
    maxHeaderLength: Math.max(MIN_HEADER_LENGTH, maxHeaderLength),
    maxHeldLength: Math.max(MIN_HEADER_LENGTH, maxHeaderLength, maxHeldLength),
  });
}

/** How the turn ended, in the words of the turn: a cut is a cut, even when it left calls behind. */
export function toFinishReason(
  reason: "stop" | "length",
  hasToolCall: boolean,
): "stop" | "length" | "tool-calls" {
  if (reason === "length") return "length";
  return hasToolCall ? "tool-calls" : "stop";
}

/** Channel, recipient with a name of 64 characters and content type must fit. */
const MIN_HEADER_LENGTH = 128;

/**
 * What markers spelled with ordinary tokens are (rule T1).
 * - `text`: text, because a real special token has come
 * - `structure`: structure, because one stood where the first header was expected: some fine-tunes know
 *   no other way
 * - `doubted`: one stood elsewhere. An answer that quotes a marker, or a completion that spells them all? It
 *   waits for a special token
 */
type Spelling = "undecided" | "text" | "structure" | "doubted";

class HarmonyParser implements Parser {
  readonly #machine: Machine;
  readonly #decoder: StreamingDecoder;
  readonly #scanner = createMarkerScanner();
  readonly #maxDoubted: number;
  #spelling: Spelling = "undecided";
  #doubted = "";

  constructor(tokenizer: Tokenizer, options: MachineOptions) {
    this.#machine = new Machine(options);
    this.#decoder = tokenizer.createDecoder();
    this.#maxDoubted = options.maxHeldLength;
  }

  get done(): boolean {
    return this.#machine.isDone;
  }

  get position(): Parser["position"] {
    return this.#machine.position;
  }

  get openPart(): PartKind | undefined {
    return this.#machine.parts.open;
  }

  get tokens(): BodyTokens {
    return this.#machine.parts.tokens;
  }

  get recoveries(): ReadonlyMap<Recovery, number> {
    return this.#machine.recoveries;
  }

  pushIds(ids: readonly TokenId[]): ParseEvent[] {
    let run = "";
    let length = 0;
    const flush = () => {
      if (length > 0) this.#ordinary(run, length);
      run = "";
      length = 0;
    };
    for (const id of ids) {
      if (id >= 0 && id < FIRST_SPECIAL_ID) {
        run += this.#decoder.push(id);
        length++;
        // In a body nothing depends on where a token ends: all of them make one delta.
        if (this.#spelling !== "text" || !this.#machine.isFlowing) flush();
      } else {
        flush();
        this.#special(id);
      }
    }
    flush();
    return this.#machine.parts.take();
  }

  pushText(text: string): ParseEvent[] {
    this.#flushDecoder();
    this.#feed(this.#scanner.push(text));
    return this.#machine.parts.take();
  }

  pushPieces(pieces: readonly ParserPiece[]): ParseEvent[] {
    for (const piece of pieces) {
      if ("text" in piece) {
        // Ids pushed before may have ended in the middle of a character.
        this.#flushDecoder();
        this.#ordinary(piece.text, 0);
      } else {
        this.#special(piece.special);
      }
    }
    return this.#machine.parts.take();
  }

  end(reason: "stop" | "length"): ParseEvent[] {
    this.#flushDecoder();
    if (this.#spelling === "doubted") this.#readDoubtedAsStructure();
    const waiting = this.#scanner.end();
    if (!isHalfMarker(waiting)) this.#machine.text(waiting, 0);
    this.#machine.end(reason === "length");
    return this.#machine.parts.take();
  }

  #special(id: TokenId): void {
    const marker = markerOf(id);
    if (marker === undefined) {
      // Dropped as if it had not been there: not even a character in the middle ends early.
      this.#machine.recover("dropped-token");
      return;
    }
    this.#flushDecoder();
    const waiting = this.#doubted + this.#scanner.end();
    this.#doubted = "";
    this.#machine.text(waiting, 0);
    if (this.#spelling !== "structure") this.#spelling = "text";
    this.#machine.marker(marker);
  }

  /** Text that came as ordinary tokens. */
  #ordinary(text: string, tokens: number): void {
    switch (this.#spelling) {
      case "text":
        this.#machine.text(text, tokens);
        return;
      case "structure":
        this.#feed(this.#scanner.push(text));
        break;
      case "undecided":
        this.#decide(this.#scanner.push(text));
        break;
      case "doubted":
        this.#doubted += text;
        if (this.#doubted.length > this.#maxDoubted) this.#readDoubtedAsStructure();
        break;
    }
    this.#machine.text("", tokens);
  }

  /** Passes text on until the first spelled marker, which decides what all of them are. */
  #decide(scanned: readonly Scanned[]): void {
    for (const [index, item] of scanned.entries()) {
      if (item.type === "text") {
        this.#machine.text(item.text, 0);
        continue;
      }
      const rest = scanned.slice(index);
      if (this.#machine.isAtFirstHeader) {
        this.#readAsStructure(rest);
      } else {
        this.#spelling = "doubted";
        this.#doubted = rest.map(toText).join("") + this.#scanner.end();
      }
      return;
    }
  }

  #readDoubtedAsStructure(): void {
    const doubted = this.#doubted;
    this.#doubted = "";
    this.#readAsStructure(this.#scanner.push(doubted));
  }

  #readAsStructure(scanned: readonly Scanned[]): void {
    this.#spelling = "structure";
    this.#machine.recover("spelled-markers");
    this.#feed(scanned);
  }

  #feed(scanned: readonly Scanned[]): void {
    for (const item of scanned) {
      switch (item.type) {
        case "text":
          this.#machine.text(item.text, 0);
          break;
        case "marker":
          this.#machine.marker(item.marker);
          break;
        case "reserved":
          this.#machine.recover("dropped-token");
          break;
      }
    }
  }

  #flushDecoder(): void {
    const rest = this.#decoder.end();
    if (rest !== "") this.#ordinary(rest, 0);
  }
}

function toText(item: Scanned): string {
  return item.type === "text" ? item.text : item.spelling;
}
