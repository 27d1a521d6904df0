/** The facts of a turn, for listeners: the recorder and traces. They are made only if `runTurn` is given a listener. */
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

/** Called synchronously. It must not throw, and must not keep the turn waiting. */
export type OnFact = (fact: TurnFact) => void;

export type TurnFact =
  | TurnRendered
  /** What `nextStep` has decided, and the outcome that led to it. */
  | { readonly type: "decided"; readonly decision: Decision; readonly outcome: Outcome }
  | { readonly type: "called"; readonly stage: Stage; readonly request: CompletionRequest }
  /** A pool asks one of its backends. */
  | AttemptFact
  /** What the engine has sent, before it is parsed. */
  | EngineEvent
  | { readonly type: "call-failed"; readonly error: unknown }
  | TurnCited
  /** An event is given out. */
  | { readonly type: "emitted"; readonly event: Exclude<TurnEvent, { type: "part-delta" }> }
  | ParserFact;

/** The model cited what a tool of the gateway has found. */
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
  /** In tokens, if it is known. */
  readonly contextLength: number | undefined;
  readonly parsing: ParsingOptions;
  /** Name of the engine; of a pool, of all its backends. */
  readonly engine: string;
  /** The engine's capabilities; for a pool those that all its backends share. */
  readonly capabilities: Capabilities;
}

/** The options that the parser needs to parse the tokens again in the same way. */
export interface ParsingOptions {
  readonly toolNames: readonly string[];
  /** Without tools, calls are read all the same, and refused. */
  readonly readsCalls: boolean;
  /** The names of functions by those under which the model was shown them, where these differ. */
  readonly shownNames?: ReadonlyMap<string, string>;
  readonly textTools: readonly string[];
  readonly systemTools: readonly SystemTool[];
}

/** The parser's input in order. With the calls' tokens, parsing can be repeated exactly. */
export type ParserFact =
  /** Tokens of the call: of those that came, as many as were read before a cut. */
  | { readonly type: "parsed"; readonly tokens: EngineTokens }
  /** A header that the gateway wrote, or the call that a client has approved. */
  | { readonly type: "parsed-header"; readonly ids: readonly TokenId[] }
  | { readonly type: "message-ended"; readonly reason: InputEnd }
  /** The next token comes after another `<|start|>assistant`. */
  | { readonly type: "restarted" }
  /** Whether the engine's text is read as one without control tokens. */
  | { readonly type: "read-as"; readonly markers: "shown" | "hidden" };
