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
import { closePart, countRepair, openFirst, type Run } from "./run-state.ts";
import { sample } from "./sample.ts";
import { thoughtIsEnough } from "./thought.ts";
import type { OfferedTool, Part } from "./turn.ts";
import { whyInvalid } from "./validate.ts";
import { wholeTurnConstraint } from "./whole-turn.ts";

/**
 * The model thinks freely until it closes its thought. Then it is made to call one of these functions, whatever it
 * had in mind.
 */
export async function forcedCall(run: Run, names: readonly string[]): Steered {
  const { turn, openings } = run;
  const whole = wholeTurnConstraint(run);
  if (whole) {
    const outcome = await callInOne(run, whole);
    if (outcome) return outcome;
  } else if (turn.reasoning.enabled) {
    openFirst(run, openings.analysis);
    const end = await sample(run, {
      stopIds: [END],
      cut: () => {
        const thinking = run.reader.parser.position === "body";
        return thinking && !thoughtIsEnough(run) ? undefined : "thought";
      },
      exact: true,
    });
    if (end.why === "length") return OUT_OF_TOKENS;
    beginNext(run);
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
  openFirst(run, openings.call(tool.name));
  return callArguments(run, tool);
}

/**
 * Thought and call under one constraint. Undefined when no call came of it, because the server ignored the
 * constraint: then the way on is the other one.
 */
async function callInOne(run: Run, constraint: Constraint): Promise<Outcome | undefined> {
  const { output } = run;
  output.hold("content");
  const end = await sample(run, {
    constraint,
    stopIds: [CALL],
    cut: () => (output.count("tool-call") > 0 && !output.part ? "called" : undefined),
    exact: true,
  });
  closePart(run, end.why === "length" ? "length" : "stop");
  output.discard("content");
  if (end.why === "length") return release(run, OUT_OF_TOKENS);
  if (output.count("tool-call") > 0) return checkArguments(run);
  beginNext(run);
  return undefined;
}

/** Another assistant message, of which nothing is written yet. */
function beginNext(run: Run): void {
  closePart(run);
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
export async function callArguments(run: Run, tool: OfferedTool): Steered {
  const { output } = run;
  const constraint = callConstraint(run, tool);
  if (constraint) void run.emit(output.release());
  const end = await sample(run, {
    ...(constraint && { constraint }),
    ban: [...STRUCTURE, RETURN],
    stopIds: [CALL],
    cut: () => (output.part?.kind === "tool-call" ? undefined : "closed"),
    exact: true,
  });
  if (end.why === "length") return release(run, OUT_OF_TOKENS);
  return checkArguments(run);
}

/** What the engine can hold the arguments of the open call to: nothing once they have begun. */
export function callConstraint(run: Run, tool: OfferedTool | undefined): Constraint | undefined {
  return tool && run.output.text === "" ? toConstraint(run, tool.parameters) : undefined;
}

/** The calls are complete: give them out if they are right, and else try once more. */
export async function checkArguments(run: Run): Steered {
  const { output, openings } = run;
  closePart(run);
  const wrong = wrongCall(run);
  if (wrong === undefined) return release(run, STOPPED);
  output.discard("tool-call");
  const { tool, problem } = wrong;
  if (!output.holds("tool-call") || run.repairs.has("invalid-arguments")) {
    return invalidArguments(tool, problem);
  }
  countRepair(run, "invalid-arguments");
  const error = `Error: the arguments were rejected: ${problem}. Call the function again.`;
  showMessage(run, openings.endOfCall, toolResultMessage(tool.name, error));
  openFirst(run, openings.call(tool.name));
  return callArguments(run, tool);
}

/** The first call whose arguments must satisfy a schema and do not. */
function wrongCall(run: Run): { tool: OfferedTool; problem: string } | undefined {
  const { output } = run;
  const calls =
    output.holds("tool-call") || !output.last
      ? output.held("tool-call")
      : [{ part: output.last, text: output.text }];
  for (const { part, text } of calls) {
    const tool = checkedTool(run, part);
    const problem = tool && whyInvalid(text, tool.parameters);
    if (tool && problem !== undefined) return { tool, problem };
  }
  return undefined;
}

/** The tool a call goes to, if its arguments must satisfy the schema. */
export function checkedTool({ turn }: Run, part: Part | undefined): OfferedTool | undefined {
  if (part?.kind !== "tool-call") return undefined;
  const tool = turn.tools.find((each) => each.name === part.name);
  return tool && (tool.strict || turn.toolChoice.type === "required") ? tool : undefined;
}
