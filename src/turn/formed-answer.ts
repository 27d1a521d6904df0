/** An answer that must be of a form: opened, written under the engine's constraint if it has one, and checked. */
import type { Constraint } from "../engines/engine.ts";
import type { Json } from "../harmony/json.ts";
import { CALL } from "../harmony/tokens.ts";
import {
  OUT_OF_TOKENS,
  release,
  showMessage,
  type Steered,
  STOPPED,
  STRUCTURE,
  toConstraint,
} from "./outcome.ts";
import { closePart, countRepair, openFirst, openNext, type Run } from "./run-state.ts";
import { sample } from "./sample.ts";
import { whyInvalid } from "./validate.ts";

export function answerHeader({ turn, openings }: Run) {
  return turn.answer.type === "text" ? openings.final : openings.finalJson;
}

export function openAnswer(run: Run): void {
  openNext(run, answerHeader(run));
}

/** The answer is open and empty: write it, check it, and try once more if it is wrong and was not yet shown. */
export async function writeAnswer(run: Run): Steered {
  const constraint = answerConstraint(run);
  if (constraint) void run.emit(run.output.release());
  const end = await sample(run, {
    ...(constraint && { constraint }),
    ban: [...STRUCTURE, CALL],
    cut: () => (run.output.part?.kind === "content" ? undefined : "closed"),
    exact: true,
  });
  if (end.why === "length") return release(run, OUT_OF_TOKENS);
  if (end.why === "stop-sequence") return release(run, STOPPED);
  return checkAnswer(run);
}

export async function checkAnswer(run: Run): Steered {
  const { output } = run;
  closePart(run);
  const problem = problemWithAnswer(run);
  if (problem === undefined) return release(run, STOPPED);
  output.discard("content");
  if (!output.holds("content") || run.repairs.has("invalid-answer")) {
    return {
      reason: "stop",
      failure: {
        kind: "invalid_answer",
        message: `The model's answer does not satisfy the response format: ${problem}`,
      },
    };
  }
  countRepair(run, "invalid-answer");
  showMessage(run, run.openings.end, {
    role: "developer",
    content:
      `The answer was rejected: ${problem}. ` +
      "Answer again with nothing but a JSON document of the requested format.",
  });
  openFirst(run, answerHeader(run));
  return writeAnswer(run);
}

/** None for an answer whose beginning was given: a constraint holds from the first sampled token. */
export function answerConstraint(run: Run): Constraint | undefined {
  return run.turn.prefill === undefined ? toConstraint(run, answerSchema(run)) : undefined;
}

export function answerSchema({ turn }: Run): Json | undefined {
  return turn.answer.type === "json-schema" ? turn.answer.schema : undefined;
}

/** What is shown joins all answers into one text, so a document beside another is none. */
function problemWithAnswer(run: Run): string | undefined {
  const { output, turn } = run;
  const texts = output.holds("content")
    ? output.held("content").map(({ text }) => text)
    : [output.text];
  if (output.count("content") > 1) return "there is other text beside the document";
  return whyInvalid((turn.prefill ?? "") + texts.join(""), answerSchema(run));
}
