/**
 * Reading what the model writes, over all the messages of a turn.
 *
 * Forcing a message begins a new parser: what the old one still held comes out first, and its counts
 * are kept.
 */
import type { EngineTokens } from "../engines/engine.ts";
import { createParser, type ParseEvent, type Parser } from "../harmony/parse.ts";
import type { Tokenizer } from "../tokenizer/index.ts";
import { createTextMeter } from "./text-meter.ts";

export interface Reader {
  readonly parser: Parser;
  /** Shows the parser what an engine has sampled. */
  push(tokens: EngineTokens): ParseEvent[];
  /** Begin again right after `<|start|>assistant`. The old parser must have ended. */
  restart(): void;
  /** Tokens of thought so far: counted by id, or on text as our own tokenizer counts it. */
  readonly reasoningTokens: number;
  /** The parsers' repairs so far, by name. */
  readonly recoveries: ReadonlyMap<string, number>;
}

export function createReader(tokenizer: Tokenizer, toolNames: readonly string[]): Reader {
  let parser = createParser(tokenizer, { toolNames });
  let earlierTokens = 0;
  const earlierRecoveries = new Map<string, number>();
  const textMeter = createTextMeter(tokenizer);

  function withRecoveries(counts: Map<string, number>): Map<string, number> {
    for (const [name, count] of parser.recoveries) {
      counts.set(name, (counts.get(name) ?? 0) + count);
    }
    return counts;
  }

  return {
    get parser() {
      return parser;
    },
    push(tokens) {
      switch (tokens.type) {
        case "ids":
          return parser.pushIds(tokens.ids);
        case "pieces":
          return metered(parser.openPart, parser.pushPieces(tokens.pieces));
        case "text":
          return metered(parser.openPart, parser.pushText(tokens.text));
        default:
          return tokens satisfies never;
      }
    },
    restart() {
      withRecoveries(earlierRecoveries);
      earlierTokens += parser.tokens.reasoning;
      parser = createParser(tokenizer, { toolNames });
    },
    get reasoningTokens() {
      return earlierTokens + parser.tokens.reasoning + textMeter.tokens;
    },
    get recoveries() {
      return withRecoveries(new Map(earlierRecoveries));
    },
  };

  function metered(openPart: string | undefined, events: ParseEvent[]): ParseEvent[] {
    let part = openPart;
    for (const event of events) {
      if (event.type === "part-start") {
        part = event.part;
        textMeter.cut();
      } else if (event.type === "part-delta" && part === "reasoning") {
        textMeter.push(event.text);
      }
    }
    return events;
  }
}
