/** A call that must be made, or whose arguments must be right. */
import { toolResultMessage } from "../harmony/messages.ts";
import { CALL, END, RETURN } from "../harmony/tokens.ts";
import { chooseFunction } from "./choose-function.ts";
import {
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
import type { OfferedTool } from "./turn.ts";
import { whyInvalid } from "./validate.ts";

/**
 * The model thinks freely until it closes its thought. Then it is made to call one of these functions, whatever it
 * had in mind.
 */
export async function* forcedCall(run: Run, names: readonly string[]): Steered {
  const { turn, headers } = run;
  if (turn.reasoning.enabled) {
    yield* openFirst(run, headers.analysis);
    const end = yield* sample(run, {
      stopIds: [END],
      cut: () => {
        const thinking = run.reader.parser.position === "body";
        return thinking && !thoughtIsEnough(run) ? undefined : "thought";
      },
      exact: true,
    });
    if (end.why === "length") return OUT_OF_TOKENS;
    yield* run.output.push(run.reader.parser.end("stop"));
    run.reader.restart();
    run.transcript.closeMessage();
    run.transcript.appendIds(headers.assistant);
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
  yield* openFirst(run, headers.call(tool.name));
  return yield* callArguments(run, tool);
}

/** A call is open and its arguments are empty: write them, check them, and try once more if they are wrong. */
export async function* callArguments(run: Run, tool: OfferedTool): Steered {
  const { output, headers } = run;
  const constraint = toConstraint(run, tool.parameters);
  const end = yield* sample(run, {
    ...(constraint && { constraint }),
    ban: [...STRUCTURE, RETURN],
    stopIds: [CALL],
    cut: () => (output.part?.kind === "tool-call" ? undefined : "closed"),
    exact: true,
  });
  if (end.why === "length") return yield* release(run, OUT_OF_TOKENS);
  yield* output.push(run.reader.parser.end("stop"));
  const problem = whyInvalid(output.text, tool.parameters);
  if (problem === undefined) return yield* release(run, STOPPED);
  output.discard();
  if (!output.holds("tool-call") || run.repairs.has("invalid-arguments")) {
    return {
      reason: "stop",
      failure: {
        kind: "invalid_tool_call",
        message: `The arguments of ${tool.name} do not satisfy its schema: ${problem}`,
      },
    };
  }
  countRepair(run, "invalid-arguments");
  const error = `Error: the arguments were rejected: ${problem}. Call the function again.`;
  yield* showMessage(run, headers.endOfCall, toolResultMessage(tool.name, error));
  yield* openFirst(run, headers.call(tool.name));
  return yield* callArguments(run, tool);
}
