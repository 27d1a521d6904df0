/** What a turn carries from one engine call to the next. */
import type { Engine, EngineTokens } from "../engines/engine.ts";
import type { Headers } from "../harmony/headers.ts";
import { createParser, type Parser } from "../harmony/parse.ts";
import type { Renderer } from "../harmony/render.ts";
import type { TokenId, Tokenizer } from "../tokenizer/index.ts";
import type { Output } from "./output.ts";
import type { RepetitionGuard } from "./repetition.ts";
import type { Steering } from "./steering.ts";
import type { Tally } from "./tally.ts";
import type { Transcript } from "./transcript.ts";
import type { Turn, TurnEvent } from "./turn.ts";

export interface Run {
  readonly turn: Turn;
  readonly engine: Engine;
  readonly steering: Steering;
  readonly contextLength: number | undefined;
  readonly signal: AbortSignal;
  readonly tokenizer: Tokenizer;
  readonly renderer: Renderer;
  readonly headers: Headers;
  readonly transcript: Transcript;
  readonly output: Output;
  readonly tally: Tally;
  readonly repetition: RepetitionGuard | undefined;
  readonly reader: Reader;
  /** The engine has accepted a request. */
  started: boolean;
  nativeReason: string | null;
  /** What the turn itself had to repair, by name; the parser counts its own. */
  readonly repairs: Map<string, number>;
}

/**
 * The parser of the message sequence being written. Forcing a message begins a new one: what the old one
 * still held comes out first, and its counts are kept.
 */
export interface Reader {
  readonly parser: Parser;
  /** Tokens of thought so far, over all parsers. */
  readonly reasoningTokens: number;
  readonly recoveries: ReadonlyMap<string, number>;
  /** Begin again right after `<|start|>assistant`. The old parser must have ended. */
  restart(): void;
  /** Engines without ids: how many tokens of thought a text was. */
  addReasoningTokens(tokens: number): void;
}

export function createReader(tokenizer: Tokenizer, toolNames: readonly string[]): Reader {
  let parser = createParser(tokenizer, { toolNames });
  let reasoningTokens = 0;
  const recoveries = new Map<string, number>();

  function keepRecoveries(into: Map<string, number>): Map<string, number> {
    for (const [name, count] of parser.recoveries) into.set(name, (into.get(name) ?? 0) + count);
    return into;
  }

  return {
    get parser() {
      return parser;
    },
    get reasoningTokens() {
      return reasoningTokens + parser.tokens.reasoning;
    },
    get recoveries() {
      return keepRecoveries(new Map(recoveries));
    },
    restart() {
      keepRecoveries(recoveries);
      reasoningTokens += parser.tokens.reasoning;
      parser = createParser(tokenizer, { toolNames });
    },
    addReasoningTokens(tokens) {
      reasoningTokens += tokens;
    },
  };
}

/** Note that the turn had to step in. */
export function countRepair(run: Run, name: string): void {
  run.repairs.set(name, (run.repairs.get(name) ?? 0) + 1);
}

/** The beginning of a message after the `<|start|>assistant` that the prompt ends with. */
export function openFirst(run: Run, header: readonly TokenId[]): TurnEvent[] {
  run.transcript.appendIds(header);
  return run.output.push(run.reader.parser.pushIds(header));
}

/** Ends what is being written and opens a message of our choice. */
export function openNext(run: Run, header: readonly TokenId[]): TurnEvent[] {
  const rest = run.output.push(run.reader.parser.end("stop"));
  run.reader.restart();
  run.transcript.closeMessage();
  run.transcript.appendIds(run.headers.assistant);
  return [...rest, ...openFirst(run, header)];
}

/** Shows the parser what an engine has sampled. */
export function parseTokens(parser: Parser, tokens: EngineTokens) {
  switch (tokens.type) {
    case "ids":
      return parser.pushIds(tokens.ids);
    case "pieces":
      return parser.pushPieces(tokens.pieces);
    case "text":
      return parser.pushText(tokens.text);
    default:
      return tokens satisfies never;
  }
}
