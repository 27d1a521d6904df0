/**
 * Making a turn give what was demanded of it, on any engine.
 *
 * It is the same idea every time: sample until the point where the next thing must hold, close what is
 * open, append the header we want, and let the engine continue from there, under its own constraint if it
 * has one. What comes out is checked all the same, because engines ignore constraints silently.
 */
import { toolResultMessage } from "../harmony/messages.ts";
import {
  callArguments,
  callConstraint,
  checkArguments,
  checkedTool,
  forcedCall,
} from "./forced-call.ts";
import {
  answerConstraint,
  answerHeader,
  checkAnswer,
  openAnswer,
  writeAnswer,
} from "./formed-answer.ts";
import { OUT_OF_TOKENS, release, showMessage, type Steered, STOPPED } from "./outcome.ts";
import { closePart, countRepair, openFirst, openNext, type Run } from "./run-state.ts";
import { sample } from "./sample.ts";
import { thoughtIsEnough } from "./thought.ts";
import type { OfferedTool } from "./turn.ts";
import { wholeTurnConstraint } from "./whole-turn.ts";

export async function steer(run: Run): Steered {
  const { toolChoice } = run.turn;
  holdWhatMayBeWrong(run);
  if (toolChoice.type === "required") return forcedCall(run, toolChoice.names);
  return freeTurn(run);
}

/**
 * What is not certain to be right is kept back until it has been checked. It streams once it is under the
 * engine's own constraint (see `writeAnswer` and `callArguments`).
 */
function holdWhatMayBeWrong({ turn, output }: Run): void {
  if (turn.answer.type !== "text") output.hold("content");
  if (turn.toolChoice.type === "required" || turn.tools.some((tool) => tool.strict)) {
    output.hold("tool-call");
  }
}

// The model goes its own way, and is stopped where something must hold

type Cut =
  /** The thought has used up its budget, reaches into the answer's reserve, or goes in circles. */
  | "enough-thought"
  /** The answer begins, and must be of a form the engine can hold it to. */
  | "answer"
  /** The one document is complete. */
  | "answered"
  /** A call begins, and the engine can hold its arguments to the schema. */
  | "strict-call"
  /** A call is complete, and its arguments must satisfy the schema. */
  | "strictly-called"
  /** A call that may not be made. */
  | "refused-call"
  /** The one call that is allowed is complete. */
  | "enough-calls";

async function freeTurn(run: Run): Steered {
  const { turn, output, openings } = run;
  begin(run);
  if (run.reader.parser.openPart === "content" && turn.answer.type !== "text") {
    return writeAnswer(run);
  }
  const exact = needsExactCuts(run);
  let whole = wholeTurnConstraint(run);
  let refusals = 0;
  for (;;) {
    const end = await sample(run, {
      ...(whole && { constraint: whole }),
      cut: () => watch(run, whole !== undefined),
      exact,
    });
    // It holds from the beginning of a turn; what is opened later is opened under a constraint of its own.
    whole = undefined;
    if (end.why === "length") return release(run, OUT_OF_TOKENS);
    if (end.why === "stop-sequence") return release(run, STOPPED);
    // An engine that does not show its stop token leaves the last part open.
    if (end.why === "stop" && output.holds("tool-call")) {
      closePart(run);
    }
    if (hasUncheckedCall(run) && (end.why === "stop" || end.cut === "strictly-called")) {
      return checkArguments(run);
    }
    if (end.why === "stop" || end.cut === "enough-calls" || end.cut === "answered") {
      const called = output.count("tool-call") > 0;
      if (!called && output.count("content") > 0 && turn.answer.type !== "text") {
        return checkAnswer(run);
      }
      if (called || output.count("content") > 0) {
        void run.emit(output.release());
        if (end.why === "stop") await moreCalls(run);
        return STOPPED;
      }
      closePart(run);
      if (turn.answer.type !== "text") output.discard("content");
      else if (output.count("content") > 0) return STOPPED;
      if (!run.steering.openMissingAnswer || run.repairs.has("missing-answer")) return STOPPED;
      countRepair(run, "missing-answer");
      openAnswer(run);
      if (turn.answer.type !== "text") return writeAnswer(run);
      continue;
    }
    switch (end.cut) {
      case "enough-thought":
        // With tools the model may still want to call one. It is not asked twice.
        if (turn.tools.length > 0 && !run.repairs.has("cut-thought")) {
          countRepair(run, "cut-thought");
          openNext(run, []);
          break;
        }
        countRepair(run, "cut-thought");
        openAnswer(run);
        if (turn.answer.type !== "text") return writeAnswer(run);
        break;
      case "answer":
        return writeAnswer(run);
      case "strict-call": {
        const tool = checkedTool(run, output.part);
        if (tool) return callArguments(run, tool);
        break;
      }
      case "strictly-called":
        break;
      case "refused-call": {
        countRepair(run, "refused-call");
        const name = output.refused ?? "";
        if (refusals++ > 0) {
          openAnswer(run);
          if (turn.answer.type !== "text") return writeAnswer(run);
          break;
        }
        showMessage(
          run,
          openings.endOfCall,
          toolResultMessage(name, `Error: ${refusal(turn.tools, name)}`),
        );
        openFirst(run, []);
        break;
      }
      default:
        end.cut satisfies never;
    }
  }
}

/** What is decided before the first token. */
function begin(run: Run): void {
  const { turn, openings, transcript, tokenizer } = run;
  if (turn.prefill !== undefined) {
    openFirst(run, openings.final);
    transcript.appendIds(tokenizer.encode(turn.prefill));
  } else if (!turn.reasoning.enabled && turn.tools.length > 0) {
    // An empty thought leaves the model free to call a tool; an opened answer would not.
    openFirst(run, [...openings.analysis, openings.end, ...openings.assistant]);
  } else if (!turn.reasoning.enabled) {
    openFirst(run, answerHeader(run));
  }
}

function needsExactCuts({ turn, steering }: Run): boolean {
  return (
    turn.answer.type !== "text" ||
    turn.reasoning.maxTokens !== undefined ||
    turn.toolChoice.type === "allowed" ||
    turn.tools.some((tool) => tool.strict) ||
    (turn.tools.length > 0 && !turn.parallelToolCalls) ||
    (turn.maxOutputTokens !== undefined && steering.answerReserve > 0) ||
    steering.refuseUnofferedTools
  );
}

/** `constrained`: the engine is holding the whole turn to its form already. */
function watch(run: Run, constrained: boolean): Cut | undefined {
  const { output, turn, reader } = run;
  if (output.refused !== undefined) return "refused-call";
  if (reader.parser.openPart === "reasoning")
    return thoughtIsEnough(run) ? "enough-thought" : undefined;
  const formed = turn.answer.type !== "text";
  switch (output.part?.kind) {
    case "content":
      if (!formed) return undefined;
      // Under a constraint it need not be held. Where there is none, the model's own answer is as good
      // as a second call's.
      if (constrained) output.release();
      return !constrained && answerConstraint(run) ? "answer" : undefined;
    case "tool-call":
      return !constrained && callConstraint(run, checkedTool(run, output.part))
        ? "strict-call"
        : undefined;
    default:
      if (hasUncheckedCall(run)) return "strictly-called";
      if (formed && output.count("content") > 0) return "answered";
      return !turn.parallelToolCalls && output.count("tool-call") > 0 ? "enough-calls" : undefined;
  }
}

/** Calls are complete, and held until their arguments have been checked. */
function hasUncheckedCall(run: Run): boolean {
  const { output } = run;
  if (!output.holds("tool-call") || output.part !== undefined) return false;
  return output.held("tool-call").some(({ part }) => checkedTool(run, part));
}

function refusal(tools: readonly OfferedTool[], name: string): string {
  const names = tools.map((tool) => tool.name).join(", ");
  return `the function ${JSON.stringify(name)} cannot be called now. Functions: ${names}.`;
}

const BESIDE_CALLS = ["reasoning", "preamble", "content"] as const;

/** Asks for further calls after the first, as long as the model goes on with nothing but calls. */
async function moreCalls(run: Run): Promise<void> {
  const { turn, output, steering } = run;
  if (!steering.sampleMoreCalls || !turn.parallelToolCalls) return;
  for (const kind of BESIDE_CALLS) output.hold(kind);
  let calls = 0;
  while (output.count("tool-call") > calls) {
    calls = output.count("tool-call");
    openNext(run, []);
    const end = await sample(run, {
      cut: () => (output.part && output.part.kind !== "tool-call" ? "no-call" : undefined),
      exact: true,
    });
    if (end.why !== "stop") break;
    closePart(run);
  }
  output.discard(...BESIDE_CALLS);
}
