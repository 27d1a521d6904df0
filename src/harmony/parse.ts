/**
 * The incremental Harmony parser, which converts the model's output to events (rule T1; the other rules are in
 * `machine.ts`, `header.ts` and `arguments.ts`).
 *
 * It is synchronous and never throws. It accepts token ids, text with spelled markers, and pieces in which only special
 * tokens are ids, split anywhere, and returns the events that are certain.
 */
import { FIRST_SPECIAL_ID } from "../tokenizer/special-tokens.ts";
import type { StreamingDecoder, TokenId, Tokenizer } from "../tokenizer/tokenizer.ts";
import { Machine } from "./machine.ts";
import type { MachineOptions } from "./machine.ts";
import { MarkerScanner, isHalfMarker, markerOf } from "./markers.ts";
import type { Scanned } from "./markers.ts";
import type { BodyTokens, ParseEvent, PartKind } from "./parts.ts";
import { type SystemTool, createOfferedNames } from "./offered-names.ts";
import type { Recovery } from "./recoveries.ts";

export type { PartHeader } from "./call-form.ts";
export type { BodyTokens, ParseEvent, PartKind } from "./parts.ts";
export type { SystemTool } from "./offered-names.ts";
export type { Recovery } from "./recoveries.ts";

export interface ParserOptions {
  /** Names of the offered functions. Empty (the default): the request has no tools, so nothing is a call. */
  readonly toolNames?: readonly string[];
  /** Whether calls are read although nothing is offered, for a caller that refuses them. Default false. */
  readonly readsCalls?: boolean;
  /** The names of functions by the names shown to the model, if they differ. Both are read. */
  readonly shownNames?: ReadonlyMap<string, string>;
  /** Names of tools whose call bodies are free text, which is passed on unchanged and not repaired as JSON. */
  readonly textTools?: readonly string[];
  /** Tools offered in the system message, such as `browser` and `python`. */
  readonly systemTools?: readonly SystemTool[];
  /**
   * Characters after which a header, or text outside messages, is read as a body and emitted. Default 400: longer than
   * any valid header, and a short delay for an answer without one.
   */
  readonly maxHeaderLength?: number;
  /**
   * Characters held back where a rule requires it: text that begins with a lost header, a call after a call, text
   * outside messages. Default 16384.
   */
  readonly maxHeldLength?: number;
  /**
   * `hidden`: the engine is known to omit markers from its text, so header words are headers at any position. `shown`
   * (the default): only joined words such as `assistantfinal` are.
   */
  readonly markers?: "shown" | "hidden";
}

/** The reason for the end of the input. */
export type InputEnd = "stop" | "length" | "cut";

/** A special token by id, or ordinary text in which nothing is a marker. */
export type ParserPiece = { readonly special: TokenId } | { readonly text: string };

export interface Parser {
  /**
   * Adds token ids. Only special ids are markers. Markers spelled with ordinary tokens are text, unless the completion
   * has no special ids (rule T1).
   */
  pushIds(ids: readonly TokenId[]): ParseEvent[];
  /** Adds text, in which every spelled marker is a marker. */
  pushText(text: string): ParseEvent[];
  /** Adds output of engines that return special tokens by id and all else as text. It is read like ids. */
  pushPieces(pieces: readonly ParserPiece[]): ParseEvent[];
  /**
   * Ends the input. `length`: the engine reached a limit, so the open part is incomplete. `cut`: the caller stopped
   * reading, possibly within a spelled marker, so text that may begin one is dropped.
   */
  end(reason: InputEnd): ParseEvent[];
  /** Whether the turn is over. Further input is ignored. */
  readonly done: boolean;
  /** The part of a message to which the next token belongs. */
  readonly position: "between" | "header" | "body";
  readonly openPart: PartKind | undefined;
  /** Whether ordinary ids can only continue the open body, with text that is passed on at once. */
  readonly isInBody: boolean;
  /** Ordinary ids in bodies so far. Text and pieces are not counted. */
  readonly tokens: BodyTokens;
  /** The repairs made so far with their counts, in order of first use. */
  readonly recoveries: ReadonlyMap<Recovery, number>;
}

/**
 * Creates a parser of a completion whose prompt ends with `<|start|>assistant`.
 *
 * @example
 * ```ts
 * import { createParser } from "harmony-gateway/harmony";
 * import { o200kHarmony } from "harmony-gateway/tokenizer";
 *
 * const parser = createParser(o200kHarmony());
 * const events = [
 *   ...parser.pushText("<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant"),
 *   ...parser.pushText("<|channel|>final<|message|>Hi!<|return|>"),
 *   ...parser.end("stop"),
 * ];
 * events.flatMap((event) => (event.type === "part-start" ? [event.part] : [])); // => ["reasoning", "content"]
 * ```
 */
export function createParser(tokenizer: Tokenizer, options: ParserOptions = {}): Parser {
  const {
    toolNames = [],
    readsCalls = false,
    shownNames,
    systemTools = [],
    textTools = [],
    maxHeaderLength = 400,
    maxHeldLength = 16_384,
    markers = "shown",
  } = options;
  const offered = createOfferedNames(toolNames, systemTools, shownNames);
  return new HarmonyParser(tokenizer, {
    offered: readsCalls ? { ...offered, readsCalls } : offered,
    textTools: textTools.length === 0 ? NO_TOOLS : new Set(textTools),
    hidesMarkers: markers === "hidden",
    maxHeaderLength: Math.max(MIN_HEADER_LENGTH, maxHeaderLength),
    maxHeldLength: Math.max(MIN_HEADER_LENGTH, maxHeaderLength, maxHeldLength),
  });
}

/**
 * Converts the engine's finish reason to the turn's. `length` takes precedence over tool calls.
 *
 * @example
 * ```ts
 * import { toFinishReason } from "harmony-gateway/harmony";
 *
 * toFinishReason("stop", true); // => "tool-calls"
 * ```
 */
export function toFinishReason(
  reason: "stop" | "length",
  hasToolCall: boolean,
): "stop" | "length" | "tool-calls" {
  if (reason === "length") return "length";
  return hasToolCall ? "tool-calls" : "stop";
}

const NO_TOOLS: ReadonlySet<string> = new Set();

/** Room for a channel, a recipient with a name of 64 characters and a content type. */
const MIN_HEADER_LENGTH = 128;

/**
 * How markers spelled with ordinary tokens are read (rule T1).
 * - `undecided`: none has been read
 * - `text`: as text, because a special token has been read
 * - `structure`: as markers, because the first was at the expected place of the first header: some fine-tunes spell all
 *   markers
 * - `doubted`: undecided, because a marker was read elsewhere, either quoted in an answer or in a completion that
 *   spells all markers. Text is held back until a special token is read
 */
type Spelling = "undecided" | "text" | "structure" | "doubted";

class HarmonyParser implements Parser {
  readonly #machine: Machine;
  readonly #decoder: StreamingDecoder;
  readonly #scanner = new MarkerScanner();
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

  get isInBody(): boolean {
    return this.#spelling === "text" && this.#machine.isPlainBody;
  }

  get tokens(): BodyTokens {
    return this.#machine.parts.tokens;
  }

  get recoveries(): ReadonlyMap<Recovery, number> {
    return this.#machine.recoveries;
  }

  pushIds(ids: readonly TokenId[]): ParseEvent[] {
    this.#flushScanner();
    let run = "";
    let length = 0;
    for (const id of ids) {
      const isOrdinary = id >= 0 && id < FIRST_SPECIAL_ID;
      if (isOrdinary) {
        run += this.#decoder.push(id);
        length++;
        // In a body, token boundaries do not matter: all tokens make one delta.
        if (this.#spelling === "text" && this.#machine.isFlowing) continue;
      }
      if (length > 0) this.#ordinary(run, length);
      run = "";
      length = 0;
      if (!isOrdinary) this.#special(id);
    }
    if (length > 0) this.#ordinary(run, length);
    return this.#machine.parts.drain();
  }

  pushText(text: string): ParseEvent[] {
    this.#flushDecoder();
    if (this.#spelling === "doubted") this.#readDoubtedAsStructure();
    this.#feed(this.#scanner.push(text));
    return this.#machine.parts.drain();
  }

  pushPieces(pieces: readonly ParserPiece[]): ParseEvent[] {
    this.#flushScanner();
    for (const piece of pieces) {
      if ("text" in piece) {
        // Earlier ids may have ended inside a character.
        this.#flushDecoder();
        this.#ordinary(piece.text, 0);
      } else {
        this.#special(piece.special);
      }
    }
    return this.#machine.parts.drain();
  }

  end(reason: InputEnd): ParseEvent[] {
    this.#flushDecoder();
    if (this.#spelling === "doubted") this.#readDoubtedAsStructure();
    const waiting = this.#scanner.end();
    if (reason !== "cut" && !isHalfMarker(waiting)) this.#machine.text(waiting, 0);
    this.#machine.end(reason === "length");
    return this.#machine.parts.drain();
  }

  #special(id: TokenId): void {
    const marker = markerOf(id);
    if (marker === undefined) {
      // The id is dropped without flushing the decoder: the next id may complete a character.
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

  /** Reads text of ordinary tokens. */
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

  /** Passes text on until the first spelled marker, which determines how all are read. */
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

  /** Ordinary tokens do not complete a marker that earlier text began, unless their own markers are read, too. */
  #flushScanner(): void {
    const waiting = this.#spelling === "text" ? this.#scanner.end() : "";
    if (waiting !== "") this.#machine.text(waiting, 0);
  }

  #flushDecoder(): void {
    const rest = this.#decoder.end();
    if (rest !== "") this.#ordinary(rest, 0);
  }
}

function toText(item: Scanned): string {
  return item.type === "text" ? item.text : item.spelling;
}
