/** The facts of a turn, for listeners: the recorder and traces. They are created only if `runTurn` has a listener. */
import type {
  AttemptFact,
  Capabilities,
  CompletionRequest,
  EngineEvent,
  EngineTokens,
} from "../engines/engine.ts";
import type { SystemTool, InputEnd } from "../harmony/parse.ts";
import type { RenderedPrompt } from "../harmony/prompt.ts";
import type { Layout } from "../harmony/message-layout.ts";
import type { TokenId } from "../tokenizer/index.ts";
import type { CitedLines, CitedSource } from "../tools/gateway-tool.ts";
import type { Decision, Outcome, Stage } from "./steering/decision.ts";
import type { Steering } from "./steering/settings.ts";
import type { Turn, TurnEvent } from "./turn.ts";

/** Called synchronously. It must not throw or delay the turn. */
export type OnFact = (fact: TurnFact) => void;

export type TurnFact =
  | TurnRendered
  /** A decision of `nextStep`, and the outcome that led to it. */
  | { readonly type: "decided"; readonly decision: Decision; readonly outcome: Outcome }
  | { readonly type: "called"; readonly stage: Stage; readonly request: CompletionRequest }
  /** A pool calls one of its backends. */
  | AttemptFact
  /** An event of the engine, before parsing. */
  | EngineEvent
  | { readonly type: "call-failed"; readonly error: unknown }
  | TurnCited
  /** An event is emitted. */
  | { readonly type: "emitted"; readonly event: Exclude<TurnEvent, { type: "part-delta" }> }
  | ParserFact;

/** The model cited a result of a gateway tool. */
export interface TurnCited {
  readonly type: "cited";
  readonly cursor: number;
  readonly lines: CitedLines | undefined;
  readonly source: CitedSource;
}

/** The conversation has become a prompt. Comes first. */
export interface TurnRendered {
  readonly type: "rendered";
  readonly turn: Turn;
  readonly prompt: RenderedPrompt;
  readonly layout: Layout;
  readonly steering: Steering;
  /** The context length in tokens, if known. */
  readonly contextLength: number | undefined;
  readonly parsing: ParsingOptions;
  /** Name of the engine; for a pool, names of all its backends. */
  readonly engine: string;
  /** The engine's capabilities; for a pool, the capabilities that all its backends share. */
  readonly capabilities: Capabilities;
}

/** The options that the parser needs to parse the tokens again in the same way. */
export interface ParsingOptions {
  readonly toolNames: readonly string[];
  /** Whether calls are read. Without tools, calls are read too, and refused. */
  readonly readsCalls: boolean;
  /** The names of functions by the names shown to the model, if they differ. */
  readonly shownNames?: ReadonlyMap<string, string>;
  readonly textTools: readonly string[];
  readonly systemTools: readonly SystemTool[];
}

/** The parser's input in order. With the calls' tokens, parsing can be repeated exactly. */
export type ParserFact =
  /** Tokens of the call that were read before a cut. */
  | { readonly type: "parsed"; readonly tokens: EngineTokens }
  /** A header that the gateway wrote, or the call that a client has approved. */
  | { readonly type: "parsed-header"; readonly ids: readonly TokenId[] }
  | { readonly type: "message-ended"; readonly reason: InputEnd }
  /** The next token comes after another `<|start|>assistant`. */
  | { readonly type: "restarted" }
  /** Whether the engine's text is read as one without control tokens. */
  | { readonly type: "read-as"; readonly markers: "shown" | "hidden" };
