/**
 * Parses what the model writes, over all the messages of a turn.
 *
 * Forcing a message begins a new Harmony parser: the old one is ended first, and its counts are kept.
 */
import type { EngineTokens } from "../engines/engine.ts";
import { createParser, type ParseEvent, type Parser, type PartKind } from "../harmony/parse.ts";
import { START } from "../harmony/tokens.ts";
import type { TokenId, Tokenizer } from "../tokenizer/index.ts";
import { type MarkerReading, refuseHiddenMarkers } from "./shown-markers.ts";
import { createTextMeter, type TextMeter } from "./text-meter.ts";

export interface TurnParser {
  /** Another engine of a pool answers: its text is read in another way, from the next message on at the latest. */
  readAs(reading: MarkerReading): void;
  /** What an engine has sampled. */
  push(tokens: EngineTokens): ParseEvent[];
  /** A header that the gateway writes. */
  pushIds(ids: readonly TokenId[]): ParseEvent[];
  /** Nothing more comes of the message that is being written. Does nothing the second time. */
  end(reason: "stop" | "length"): ParseEvent[];
  /** Begin again right after `<|start|>assistant`. The old parser must have ended. */
  restart(): void;
  /** The model has ended its turn: whatever the engine still writes does not count. */
  readonly done: boolean;
  readonly position: Parser["position"];
  readonly openPart: PartKind | undefined;
  /** Tokens of thought so far: counted by id, or on text as our own tokenizer counts it. */
  readonly reasoningTokens: number;
  /** The parsers' repairs so far, by name. */
  readonly recoveries: ReadonlyMap<string, number>;
}

interface TurnParserOptions extends MarkerReading {
  readonly toolNames: readonly string[];
}

export function createTurnParser(tokenizer: Tokenizer, options: TurnParserOptions): TurnParser {
  return new MessageParsers(tokenizer, options);
}

/** The length of `<|startoftext|>`. */
const LONGEST_MARKER = 15;

class MessageParsers implements TurnParser {
  readonly #tokenizer: Tokenizer;
  #options: TurnParserOptions;
  readonly #textMeter: TextMeter;
  readonly #earlierRecoveries = new Map<string, number>();
  #earlierTokens = 0;
  /** The engine gives text alone. */
  #isText = false;
  #hasShownMarker = false;
  /** The end of the text so far: a control token may come in several reads. */
  #tail = "";
  /** The model is to begin with a header: no part of one has been written for it. */
  #expectsHeader = true;
  /** The parser has read nothing. */
  #isUntouched = true;
  #parser: Parser;

  constructor(tokenizer: Tokenizer, options: TurnParserOptions) {
    this.#tokenizer = tokenizer;
    this.#options = options;
    this.#textMeter = createTextMeter(tokenizer);
    this.#parser = createParser(tokenizer, options);
  }

  readAs(reading: MarkerReading): void {
    const isKnown = reading.markers === this.#options.markers;
    this.#options = { ...this.#options, ...reading };
    this.#hasShownMarker = false;
    this.#tail = "";
    if (this.#isUntouched && !isKnown) this.#parser = createParser(this.#tokenizer, this.#options);
  }

  push(tokens: EngineTokens): ParseEvent[] {
    this.#isUntouched = false;
    switch (tokens.type) {
      case "ids":
        return this.#parser.pushIds(tokens.ids);
      case "pieces":
        return this.#metered(this.#parser.openPart, this.#parser.pushPieces(tokens.pieces));
      case "text":
        return this.#metered(this.#parser.openPart, this.#pushText(tokens.text));
      default:
        return tokens satisfies never;
    }
  }

  pushIds(ids: readonly TokenId[]): ParseEvent[] {
    this.#isUntouched = false;
    // Behind `<|start|>assistant`.
    if (ids.length > 0) this.#expectsHeader = ids.at(-2) === START;
    return this.#parser.pushIds(ids);
  }

  end(reason: "stop" | "length"): ParseEvent[] {
    const events = this.#parser.end(reason);
    this.#expectMarkers(events);
    return events;
  }

  #pushText(text: string): ParseEvent[] {
    this.#isText = true;
    if (!this.#hasShownMarker) this.#findMarker(text);
    const events = this.#parser.pushText(text);
    this.#expectMarkers(events);
    return events;
  }

  #findMarker(text: string): void {
    const seen = this.#tail + text;
    this.#hasShownMarker = /<\|[a-z]+\|>/.test(seen);
    this.#tail = seen.slice(-LONGEST_MARKER);
    if (this.#hasShownMarker) this.#options.onShownMarker();
  }

  /**
   * Asked before the events go out: the parser has held them until it knew. A completion begins with a control token, so
   * one without any comes from an engine that hides them, unless it is known not to.
   */
  #expectMarkers(events: readonly ParseEvent[]): void {
    if (!this.#isText || this.#hasShownMarker || this.#options.allowHiddenMarkers) return;
    const lacksHeader = this.#expectsHeader && events.length > 0;
    if (lacksHeader || this.#parser.recoveries.has("lost-markers")) refuseHiddenMarkers();
  }

  restart(): void {
    this.#addRecoveries(this.#earlierRecoveries);
    this.#earlierTokens += this.#parser.tokens.reasoning;
    this.#parser = createParser(this.#tokenizer, this.#options);
    this.#expectsHeader = true;
    this.#isUntouched = true;
  }

  get done(): boolean {
    return this.#parser.done;
  }

  get position(): Parser["position"] {
    return this.#parser.position;
  }

  get openPart(): PartKind | undefined {
    return this.#parser.openPart;
  }

  get reasoningTokens(): number {
    return this.#earlierTokens + this.#parser.tokens.reasoning + this.#textMeter.tokens;
  }

  get recoveries(): ReadonlyMap<string, number> {
    return this.#addRecoveries(new Map(this.#earlierRecoveries));
  }

  #addRecoveries(counts: Map<string, number>): Map<string, number> {
    for (const [name, count] of this.#parser.recoveries) {
      counts.set(name, (counts.get(name) ?? 0) + count);
    }
    return counts;
  }

  #metered(openPart: PartKind | undefined, events: ParseEvent[]): ParseEvent[] {
    let part = openPart;
    for (const event of events) {
      if (event.type === "part-start") {
        part = event.part;
        this.#textMeter.cut();
      } else if (event.type === "part-delta" && part === "reasoning") {
        this.#textMeter.push(event.text);
      }
    }
    return events;
  }
}
