/** How far the gateway goes to get an answer out of a turn. The operator's choice, with safe defaults. */
export interface Steering {
  /** Tokens of the output limit that are kept for the answer: analysis that reaches into them is cut. 0: none. */
  readonly answerReserve: number;
  /** Cut analysis that has begun to repeat itself. */
  readonly repetitionGuard: boolean;
  /** After a call, sample on to see whether the model has another one. Costs an engine call each time. */
  readonly sampleMoreCalls: boolean;
  /** Answer a call to a tool nobody offered with a hidden error, once, instead of passing it on. */
  readonly refuseUnofferedTools: boolean;
  /** Open the answer when the model has stopped without giving one. */
  readonly openMissingAnswer: boolean;
  /**
   * Let the engine hold the whole turn to its demands in one call, where it can: the form of the answer and
   * the calls that may be made, the thought left free. Saves an engine call; needs a recent server.
   */
  readonly singleCallConstraint: boolean;
  /**
   * Take answers from an engine that hides the control tokens, and read from the words that are left what is
   * thought and what is answer. Off, such answers are refused: an odd one would show a thought as the answer.
   */
  readonly allowHiddenMarkers: boolean;
  /** Output limit when neither the request nor the context length sets one. */
  readonly defaultMaxOutputTokens: number;
}

export const DEFAULT_STEERING: Steering = {
  answerReserve: 0,
  repetitionGuard: true,
  sampleMoreCalls: false,
  refuseUnofferedTools: false,
  openMissingAnswer: true,
  singleCallConstraint: false,
  allowHiddenMarkers: false,
  defaultMaxOutputTokens: 32_768,
};
