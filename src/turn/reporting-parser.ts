/** A turn parser that reports what it is given, so that a recorded turn can be parsed again token by token. */
import type { EngineTokens } from "../engines/engine.ts";
import type { InputEnd, ParseEvent, Parser, PartKind } from "../harmony/parse.ts";
import type { TokenId } from "../tokenizer/index.ts";
import type { OnFact } from "./facts.ts";
import type { MarkerReading } from "./shown-markers.ts";
import type { TurnParser } from "./turn-parser.ts";

/** @param markers how the engine's text is read at first. */
export function reportParsing(
  parser: TurnParser,
  markers: MarkerReading["markers"],
  onFact: OnFact,
): TurnParser {
  onFact({ type: "read-as", markers });
  return new ReportingParser(parser, onFact);
}

class ReportingParser implements TurnParser {
  readonly #parser: TurnParser;
  readonly #onFact: OnFact;

  constructor(parser: TurnParser, onFact: OnFact) {
    this.#parser = parser;
    this.#onFact = onFact;
  }

  readAs(reading: MarkerReading): void {
    this.#onFact({ type: "read-as", markers: reading.markers });
    this.#parser.readAs(reading);
  }

  push(tokens: EngineTokens): ParseEvent[] {
    this.#onFact({ type: "parsed", tokens });
    return this.#parser.push(tokens);
  }

  pushIds(ids: readonly TokenId[]): ParseEvent[] {
    this.#onFact({ type: "parsed-header", ids });
    return this.#parser.pushIds(ids);
  }

  end(reason: InputEnd): ParseEvent[] {
    this.#onFact({ type: "message-ended", reason });
    return this.#parser.end(reason);
  }

  restart(): void {
    this.#onFact({ type: "restarted" });
    this.#parser.restart();
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
    return this.#parser.reasoningTokens;
  }

  get recoveries(): ReadonlyMap<string, number> {
    return this.#parser.recoveries;
  }
}
