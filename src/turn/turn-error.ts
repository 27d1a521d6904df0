/** Why a turn cannot be run as asked, or not to its end, other than by the engine: its failures are `EngineError`s. */
export type TurnErrorKind =
  /** Prompt and budget do not fit the model's context. */
  | "context-length"
  /** The engine cannot do what the turn demands, and it cannot be steered to. */
  | "unsupported"
  /** The gateway is shutting down. */
  | "shutdown"
  /** The engine hides the control tokens, so a thought cannot be told from an answer. */
  | "hidden-markers";

/** A prompt that does not fit, and what it would have to fit into. */
export interface PromptTooLong {
  /** So many at least: a prompt that is far too long is not encoded to its end. */
  readonly tokens: number;
  readonly maximum: number;
}

export class TurnError extends Error {
  readonly kind: TurnErrorKind;
  /** With kind `context-length`, where it is known. */
  readonly tooLong: PromptTooLong | undefined;

  constructor(kind: TurnErrorKind, message: string, tooLong?: PromptTooLong) {
    super(message);
    this.name = "TurnError";
    this.kind = kind;
    this.tooLong = tooLong;
  }
}
