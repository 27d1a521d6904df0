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

export class TurnError extends Error {
  readonly kind: TurnErrorKind;

  constructor(kind: TurnErrorKind, message: string) {
    super(message);
    this.name = "TurnError";
    this.kind = kind;
  }
}
