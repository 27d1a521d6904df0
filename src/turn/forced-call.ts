/** A call that must be made, or whose arguments must be right. */
import type { Constraint } from "../engines/engine.ts";
import { toolResultMessage } from "../harmony/messages.ts";
import { CALL, END, RETURN } from "../harmony/tokens.ts";
import { chooseFunction } from "./choose-function.ts";
import {
  type Outcome,
  OUT_OF_TOKENS,
  release,
  showMessage,
  type Steered,
  STOPPED,
  STRUCTURE,
  toConstraint,
} from "./outcome.ts";
import { countRepair, openFirst, type Run } from "./run-state.ts";
import { sample } from "./sample.ts";
import { thoughtIsEnough } from "./thought.ts";
import type { OfferedTool, TurnEvent } from "./turn.ts";
import { whyInvalid } from "./validate.ts";
import { wholeTurnConstraint } from "./whole-turn.ts";

/**
 * The model thinks freely until it closes its thought. Then it is made to call one of these functions, whatever it
 * had in mind.
 */
export async function* forcedCall(run: Run, names: readonly string[]): Steered {
  const { turn, openings } = run;
  const whole = wholeTurnConstraint(run);
  if (whole) {
    const outcome = yield* callInOne(run, whole);
    if (outcome) return outcome;
  } else if (turn.reasoning.enabled) {
    yield* openFirst(run, openings.analysis);
    const end = yield* sample(run, {
      stopIds: [END],
      cut: () => {
        const thinking = run.reader.parser.position === "body";
        return thinking && !thoughtIsEnough(run) ? undefined : "thought";
      },
      exact: true,
    });
    if (end.why === "length") return OUT_OF_TOKENS;
    yield* beginNext(run);
  }
  const [only] = names;
  const name = names.length === 1 ? only : await chooseFunction(run, names);
  const tool = turn.tools.find((each) => each.name === name);
  if (!tool) {
    return {
      reason: "stop",
      failure: {
        kind: "invalid_tool_call",
        message: "The model did not name an offered function.",
      },
    };
  }
  yield* openFirst(run, openings.call(tool.name));
  return yield* callArguments(run, tool);
}

/**
 * Thought and call under one constraint. Undefined when no call came of it, because the server ignored the
 * constraint: then the way on is the other one.
 */
async function* callInOne(
  run: Run,
  constraint: Constraint,
): AsyncGenerator<TurnEvent, Outcome | undefined> {
  const { output, turn } = run;
  let tool: OfferedTool | undefined;
  output.hold("content");
  const end = yield* sample(run, {
    constraint,
    stopIds: [CALL],
    cut: () => {
      const { part } = output;
      if (part?.kind === "tool-call") tool = turn.tools.find((each) => each.name === part.name);
      return tool && !part ? "called" : undefined;
    },
    exact: true,
  });
  yield* output.push(run.reader.parser.end(end.why === "length" ? "length" : "stop"));
  output.discard();
  if (end.why === "length") return OUT_OF_TOKENS;
  if (!tool) {
    yield* beginNext(run);
    return undefined;
  }
  const problem = whyInvalid(output.text, tool.parameters);
  return problem === undefined ? STOPPED : invalidArguments(tool, problem);
}

/** Another assistant message, of which nothing is written yet. */
function* beginNext(run: Run): Generator<TurnEvent, void> {
  yield* run.output.push(run.reader.parser.end("stop"));
  run.reader.restart();
  run.transcript.closeMessage();
  run.transcript.appendIds(run.openings.assistant);
}

function invalidArguments(tool: OfferedTool, problem: string): Outcome {
  return {
    reason: "stop",
    failure: {
      kind: "invalid_tool_call",
      message: `The arguments of ${tool.name} do not satisfy its schema: ${problem}`,
    },
  };
}

/** A call is open and its arguments are empty: write them, check them, and try once more if they are wrong. */
export async function* callArguments(run: Run, tool: OfferedTool): Steered {
  const { output } = run;
  const constraint = toConstraint(run, tool.parameters);
  const end = yield* sample(run, {
    ...(constraint && { constraint }),
    ban: [...STRUCTURE, RETURN],
    stopIds: [CALL],
    cut: () => (output.part?.kind === "tool-call" ? undefined : "closed"),
    exact: true,
  });
  if (end.why === "length") return yield* release(run, OUT_OF_TOKENS);
  return yield* checkArguments(run, tool);
}

/** The last call is complete, and goes to this tool. */
export async function* checkArguments(run: Run, tool: OfferedTool): Steered {
  const { output, openings } = run;
  yield* output.push(run.reader.parser.end("stop"));
  const problem = whyInvalid(output.text, tool.parameters);
  if (problem === undefined) return yield* release(run, STOPPED);
  output.discard();
  if (!output.holds("tool-call") || run.repairs.has("invalid-arguments")) {
    return invalidArguments(tool, problem);
  }
  countRepair(run, "invalid-arguments");
  const error = `Error: the arguments were rejected: ${problem}. Call the function again.`;
  yield* showMessage(run, openings.endOfCall, toolResultMessage(tool.name, error));
  yield* openFirst(run, openings.call(tool.name));
  return yield* callArguments(run, tool);
}
