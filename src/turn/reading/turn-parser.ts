/**
 * Parses the model's output across all messages of a turn.
 *
 * Each forced message starts a new Harmony parser. The previous parser is ended first, and its counts are added.
 */
import type { EngineTokens } from "../../engines/engine.ts";
import { LONGEST_LOST_HEADER, suggestsLostHeader } from "../../harmony/lost-markers.ts";
import {
  createParser,
  type InputEnd,
  type ParseEvent,
  type Parser,
  type PartKind,
} from "../../harmony/parse.ts";
import { START } from "../../harmony/tokens.ts";
import type { TokenId, Tokenizer } from "../../tokenizer/index.ts";
import type { ParsingOptions } from "../facts.ts";
import { type MarkerReading, refuseHiddenMarkers } from "./shown-markers.ts";
import { TextMeter } from "./text-meter.ts";

type TurnParserOptions = MarkerReading & ParsingOptions;

export class TurnParser {
  readonly #tokenizer: Tokenizer;
  #options: TurnParserOptions;
  /** Absent: no reasoning has been received as text. */
  #textMeter: TextMeter | undefined;
  /** Absent: the first parser is still in use. */
  #earlierRecoveries: ReadonlyMap<string, number> | undefined;
  #earlierTokens = 0;
  /** The engine returns text only. */
  #isText = false;
  #hasShownMarker = false;
  /** Whether two header words are joined, as in text without the control tokens between them. */
  #hasLostHeader = false;
  /** The end of the text so far, since a control token or a header may be split across reads. */
  #tail = "";
  /** Whether the model must begin with a header, because the gateway has written no part of one. */
  #expectsHeader = true;
  /** The parser has read nothing yet. */
  #isUntouched = true;
  #parser: Parser;

  constructor(tokenizer: Tokenizer, options: TurnParserOptions) {
    this.#tokenizer = tokenizer;
    this.#options = options;
    this.#parser = createParser(tokenizer, options);
  }

  /** Called when another engine of a pool answers. The new options apply at the latest from the next message on. */
  readAs(reading: MarkerReading): void {
    const isKnown = reading.markers === this.#options.markers;
    this.#options = { ...this.#options, ...reading };
    this.#hasShownMarker = false;
    this.#hasLostHeader = false;
    this.#tail = "";
    if (this.#isUntouched && !isKnown) this.#parser = createParser(this.#tokenizer, this.#options);
  }

  /** Parses sampled tokens. */
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

  /** Parses a header written by the gateway. */
  pushIds(ids: readonly TokenId[]): ParseEvent[] {
    this.#isUntouched = false;
    // Ids that end with `<|start|>assistant` leave the header to the model.
    if (ids.length > 0) this.#expectsHeader = ids.at(-2) === START;
    return this.#parser.pushIds(ids);
  }

  /** Ends the current message. Idempotent. */
  end(reason: InputEnd): ParseEvent[] {
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
    this.#hasLostHeader ||= suggestsLostHeader(seen);
    // No lost header is longer.
    this.#tail = seen.slice(-LONGEST_LOST_HEADER);
    if (this.#hasShownMarker) this.#options.onShownMarker();
  }

  /**
   * Checks for control tokens before events are emitted: the parser holds the events until it is certain. A completion
   * begins with a control token, so text without one comes from an engine that hides them, unless the engine is known
   * to show them.
   */
  #expectMarkers(events: readonly ParseEvent[]): void {
    if (!this.#isText || this.#hasShownMarker || this.#options.allowHiddenMarkers) return;
    const lacksHeader = this.#expectsHeader && events.length > 0;
    if (lacksHeader || this.#hasLostHeader || this.#parser.recoveries.has("lost-markers")) {
      refuseHiddenMarkers();
    }
  }

  /** Starts a new parser directly after `<|start|>assistant`. The previous one must have ended. */
  restart(): void {
    this.#earlierRecoveries = this.recoveries;
    this.#earlierTokens += analysisTokens(this.#parser);
    this.#parser = createParser(this.#tokenizer, this.#options);
    this.#expectsHeader = true;
    this.#isUntouched = true;
  }

  /** Whether the model has ended its turn. Further engine output is ignored. */
  get done(): boolean {
    return this.#parser.done;
  }

  get position(): Parser["position"] {
    return this.#parser.position;
  }

  /** See {@link Parser.isInBody}. */
  get isInBody(): boolean {
    return this.#parser.isInBody;
  }

  get openPart(): PartKind | undefined {
    return this.#parser.openPart;
  }

  /** Reasoning tokens so far, calls to system tools included: counted by id, or for text by the gateway's tokenizer. */
  get reasoningTokens(): number {
    return this.#earlierTokens + analysisTokens(this.#parser) + (this.#textMeter?.tokens() ?? 0);
  }

  /** The parsers' repairs so far, by name. */
  get recoveries(): ReadonlyMap<string, number> {
    const counts = new Map(this.#earlierRecoveries);
    for (const [name, count] of this.#parser.recoveries) {
      counts.set(name, (counts.get(name) ?? 0) + count);
    }
    return counts;
  }

  /** The number of repairs so far. */
  readonly countRepairs = (): number => {
    let repairs = 0;
    for (const count of this.#earlierRecoveries?.values() ?? []) repairs += count;
    for (const count of this.#parser.recoveries.values()) repairs += count;
    return repairs;
  };

  #metered(openPart: PartKind | undefined, events: ParseEvent[]): ParseEvent[] {
    let part = openPart;
    for (const event of events) {
      if (event.type === "part-start") {
        part = event.part;
        this.#textMeter?.cut();
      } else if (event.type === "part-delta" && (part === "reasoning" || part === "builtin-call")) {
        this.#textMeter ??= new TextMeter(this.#tokenizer, { hasMarkers: false });
        this.#textMeter.push(event.text);
      }
    }
    return events;
  }
}

function analysisTokens({ tokens }: Parser): number {
  return tokens.reasoning + tokens.builtinCall;
}
