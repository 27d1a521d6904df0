/** The reason why a turn cannot be run or completed. Failures of the engine are `EngineError`s instead. */
export type TurnErrorKind =
  /** Prompt and output budget exceed the model's context. */
  | "context-length"
  /** The engine does not support a demand of the turn, and steering cannot replace it. */
  | "unsupported"
  /** The gateway is shutting down. */
  | "shutdown"
  /** The engine hides control tokens, so reasoning cannot be distinguished from the answer. */
  | "hidden-markers";

/** Length of the prompt and of the context, in tokens. */
export interface PromptTooLong {
  /** A lower bound: a prompt that is far too long is not encoded completely. */
  readonly tokens: number;
  readonly maximum: number;
}

export class TurnError extends Error {
  readonly kind: TurnErrorKind;
  /** Set with kind `context-length`, if known. */
  readonly tooLong: PromptTooLong | undefined;

  constructor(kind: TurnErrorKind, message: string, tooLong?: PromptTooLong) {
    super(message);
    this.name = "TurnError";
    this.kind = kind;
    this.tooLong = tooLong;
  }
}
