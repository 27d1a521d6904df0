/**
 * The repairs of the turn, by their names in metrics and records. The parser's repairs are in `harmony/recoveries.ts`.
 */

/** Each kind of repair, and its meaning. `scripts/write-docs.ts` lists them in `docs/operate.md`. */
export const TURN_REPAIRS = {
  "cut-reasoning": "the reasoning was ended: it repeated itself, or had used its budget",
  "missing-answer":
    "the model stopped after its reasoning, or left its answer empty, and was made to answer",
  "empty-answer": "the turn ended without an answer, or with an empty one",
  "announced-call":
    "the model stopped after a preamble, and was made to begin another message: a call, or its answer",
  "refused-call": "a call of a function that the request does not allow was answered with an error",
  "exhausted-tools":
    "no more calls of the gateway's tools were available, and the model was made to answer",
  "invalid-answer": "an answer that does not match its schema was rejected and sampled again",
  "invalid-arguments": "arguments that do not match their schema were rejected and sampled again",
  "unmapped-call":
    "a call of a trained tool that cannot become one of the client's was answered with an error",
  "wrapped-code": "the code of a call of `python` came as a JSON argument",
} as const;

export type TurnRepair = keyof typeof TURN_REPAIRS;
