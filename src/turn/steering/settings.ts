/** The operator's steering settings, with safe defaults. */
export interface Steering {
  /**
   * Tokens of the output limit reserved for the answer. Analysis that reaches into them is cut. 0 disables
   * the reserve.
   */
  readonly answerReserve: number;
  /** Cut analysis that repeats itself. */
  readonly repetitionGuard: boolean;
  /** After a call, continue sampling to find further calls. Costs one engine call each time. */
  readonly sampleMoreCalls: boolean;
  /**
   * Answer a call to a tool that was not offered with an error that the client does not see, once per turn,
   * instead of passing the call on.
   */
  readonly refuseUnofferedTools: boolean;
  /** Open the answer if the model stopped without one, or with an empty one. */
  readonly openMissingAnswer: boolean;
  /** Let the model begin another message if it stopped after a preamble and tools may be called. */
  readonly continueAnnouncedCalls: boolean;
  /**
   * Let the engine constrain the answer and the calls in the same call that generates the reasoning, if it
   * can. Saves an engine call; needs a recent server.
   */
  readonly singleCallConstraint: boolean;
  /**
   * Accept answers from engines that hide control tokens, and use the remaining header words to distinguish reasoning
   * from the answer. If off, such answers are rejected, because a malformed answer would show reasoning as the answer.
   */
  readonly allowHiddenMarkers: boolean;
  /** Output limit in tokens, if neither the request nor the context length sets one. */
  readonly defaultMaxOutputTokens: number;
}

export const DEFAULT_STEERING: Steering = {
  answerReserve: 0,
  repetitionGuard: true,
  sampleMoreCalls: false,
  refuseUnofferedTools: false,
  openMissingAnswer: true,
  continueAnnouncedCalls: true,
  singleCallConstraint: false,
  allowHiddenMarkers: false,
  defaultMaxOutputTokens: 32_768,
};
