/**
 * Making a turn give what was demanded of it, on any engine.
 *
 * It is the same idea every time: sample until the point where the next thing must hold, close what is
 * open, append the header we want, and let the engine continue from there, under its own constraint if it
 * has one. What comes out is checked all the same, because engines ignore constraints silently.
 */
import type { Constraint } from "../engines/engine.ts";
import { type Json, toCompactJson } from "../harmony/json.ts";
import { toolResultMessage } from "../harmony/messages.ts";
import { CALL, CHANNEL, CONSTRAIN, END, MESSAGE, RETURN, START } from "../harmony/tokens.ts";
import type { Message } from "../harmony/conversation.ts";
import { chooseFunction } from "./choose-function.ts";
import { countRepair, openFirst, openNext, type Run } from "./run-state.ts";
import { sample } from "./sample.ts";
import type { OfferedTool, TurnEvent, TurnFailure } from "./turn.ts";
import { whyInvalid } from "./validate.ts";

/** How a turn came to its end. */
export interface Outcome {
  readonly reason: "stop" | "length";
  readonly failure?: TurnFailure;
}

const STOPPED: Outcome = { reason: "stop" };
const OUT_OF_TOKENS: Outcome = { reason: "length" };

/** Ids that would end or restructure a JSON body from inside one of its strings: a JSON grammar lets them through. */
const STRUCTURE = [CONSTRAIN, CHANNEL, START, END, MESSAGE];

type Steered = AsyncGenerator<TurnEvent, Outcome>;

export async function* steer(run: Run): Steered {
  const { toolChoice } = run.turn;
  holdWhatMayBeWrong(run);
  if (toolChoice.type === "required") return yield* forcedCall(run, toolChoice.names);
  return yield* freeTurn(run);
}

/**
 * What is not certain to be right is kept back until it has been checked. An answer streams once it is
 * under the engine's own constraint (see `answer`), a call's arguments if they will be.
 */
function holdWhatMayBeWrong({ turn, output, engine }: Run): void {
  if (turn.answer.type !== "text") output.hold("content");
  if (engine.capabilities.constraints.includes("json-schema")) return;
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
  /** A call begins, and its arguments must satisfy the schema. */
  | "strict-call"
  /** A call that may not be made. */
  | "refused-call"
  /** The one call that is allowed is complete. */
  | "enough-calls";

async function* freeTurn(run: Run): Steered {
  const { turn, output, headers } = run;
  yield* begin(run);
  if (run.reader.parser.openPart === "content" && turn.answer.type !== "text") {
    return yield* answer(run);
  }
  const exact = needsExactCuts(run);
  let refusals = 0;
  for (;;) {
    const end = yield* sample(run, { cut: () => watch(run), exact });
    if (end.why === "length") return yield* release(run, OUT_OF_TOKENS);
    if (end.why === "stop-sequence") return STOPPED;
    if (end.why === "stop" || end.cut === "enough-calls" || end.cut === "answered") {
      const called = output.count("tool-call") > 0;
      if (!called && output.count("content") > 0 && turn.answer.type !== "text") {
        return yield* checkAnswer(run);
      }
      if (called || output.count("content") > 0) {
        yield* output.release();
        if (end.why === "stop") yield* moreCalls(run);
        return STOPPED;
      }
      yield* output.push(run.reader.parser.end("stop"));
      if (turn.answer.type !== "text") output.discard();
      else if (output.count("content") > 0) return STOPPED;
      if (!run.steering.openMissingAnswer || run.repairs.has("missing-answer")) return STOPPED;
      countRepair(run, "missing-answer");
      yield* openAnswer(run);
      if (turn.answer.type !== "text") return yield* answer(run);
      continue;
    }
    switch (end.cut) {
      case "enough-thought":
        // With tools the model may still want to call one. It is not asked twice.
        if (turn.tools.length > 0 && !run.repairs.has("cut-thought")) {
          countRepair(run, "cut-thought");
          yield* openNext(run, []);
          break;
        }
        countRepair(run, "cut-thought");
        yield* openAnswer(run);
        if (turn.answer.type !== "text") return yield* answer(run);
        break;
      case "answer":
        return yield* answer(run);
      case "strict-call": {
        const tool = openTool(run);
        if (tool) return yield* callArguments(run, tool);
        break;
      }
      case "refused-call": {
        countRepair(run, "refused-call");
        const name = output.refused ?? "";
        if (refusals++ > 0) {
          yield* openAnswer(run);
          if (turn.answer.type !== "text") return yield* answer(run);
          break;
        }
        yield* showMessage(
          run,
          headers.endOfCall,
          toolResultMessage(name, `Error: ${refusal(turn.tools, name)}`),
        );
        yield* openFirst(run, []);
        break;
      }
      default:
        end.cut satisfies never;
    }
  }
}

/** What is decided before the first token. */
function* begin(run: Run): Generator<TurnEvent, void> {
  const { turn, headers, transcript, tokenizer } = run;
  if (turn.prefill !== undefined) {
    yield* openFirst(run, headers.final);
    transcript.appendIds(tokenizer.encode(turn.prefill));
  } else if (!turn.reasoning.enabled && turn.tools.length > 0) {
    // An empty thought leaves the model free to call a tool; an opened answer would not.
    yield* openFirst(run, [...headers.analysis, headers.end, ...headers.assistant]);
  } else if (!turn.reasoning.enabled) {
    yield* openFirst(run, answerHeader(run));
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

function watch(run: Run): Cut | undefined {
  const { output, turn, reader } = run;
  if (output.refused !== undefined) return "refused-call";
  if (reader.parser.openPart === "reasoning")
    return thoughtIsEnough(run) ? "enough-thought" : undefined;
  const formed = turn.answer.type !== "text";
  switch (output.part?.kind) {
    case "content":
      // Where nothing can hold the model to the form, its own answer is as good as a second call's.
      return formed && answerConstraint(run) ? "answer" : undefined;
    case "tool-call":
      return openTool(run)?.strict ? "strict-call" : undefined;
    default:
      if (formed && output.count("content") > 0) return "answered";
      return !turn.parallelToolCalls && output.count("tool-call") > 0 ? "enough-calls" : undefined;
  }
}

function thoughtIsEnough(run: Run): boolean {
  const { turn, steering, tally, reader, repetition } = run;
  const { maxTokens } = turn.reasoning;
  if (maxTokens !== undefined && reader.reasoningTokens >= maxTokens) return true;
  if (repetition?.looping) return true;
  const { maxOutputTokens } = turn;
  if (maxOutputTokens === undefined || steering.answerReserve === 0) return false;
  return tally.completionTokens >= maxOutputTokens - steering.answerReserve;
}

function openTool({ turn, output }: Run): OfferedTool | undefined {
  const { part } = output;
  if (part?.kind !== "tool-call") return undefined;
  return turn.tools.find((tool) => tool.name === part.name);
}

function refusal(tools: readonly OfferedTool[], name: string): string {
  const names = tools.map((tool) => tool.name).join(", ");
  return `the function ${JSON.stringify(name)} cannot be called now. Functions: ${names}.`;
}

// An answer of a form

function answerHeader({ turn, headers }: Run) {
  return turn.answer.type === "text" ? headers.final : headers.finalJson;
}

function* openAnswer(run: Run): Generator<TurnEvent, void> {
  yield* openNext(run, answerHeader(run));
}

/** The answer is open and empty: write it, check it, and try once more if it is wrong and was not yet shown. */
async function* answer(run: Run): Steered {
  const constraint = answerConstraint(run);
  if (constraint) yield* run.output.release();
  const end = yield* sample(run, {
    ...(constraint && { constraint }),
    ban: [...STRUCTURE, CALL],
    cut: () => (run.output.part?.kind === "content" ? undefined : "closed"),
    exact: true,
  });
  if (end.why === "length") return yield* release(run, OUT_OF_TOKENS);
  if (end.why === "stop-sequence") return yield* release(run, STOPPED);
  return yield* checkAnswer(run);
}

async function* checkAnswer(run: Run): Steered {
  const { output, turn } = run;
  yield* output.push(run.reader.parser.end("stop"));
  const problem = whyInvalid((turn.prefill ?? "") + output.text, answerSchema(run));
  if (problem === undefined) return yield* release(run, STOPPED);
  output.discard();
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
  yield* showMessage(run, run.headers.end, {
    role: "developer",
    content:
      `The answer was rejected: ${problem}. ` +
      "Answer again with nothing but a JSON document of the requested format.",
  });
  yield* openFirst(run, answerHeader(run));
  return yield* answer(run);
}

/** None for an answer whose beginning was given: a constraint holds from the first sampled token. */
function answerConstraint(run: Run): Constraint | undefined {
  return run.turn.prefill === undefined ? toConstraint(run, answerSchema(run)) : undefined;
}

function answerSchema({ turn }: Run): Json | undefined {
  return turn.answer.type === "json-schema" ? turn.answer.schema : undefined;
}

// A call that must be made, or must be right

async function* forcedCall(run: Run, names: readonly string[]): Steered {
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
async function* callArguments(run: Run, tool: OfferedTool): Steered {
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

/** Asks for further calls after the first, as long as the model goes on with nothing but calls. */
async function* moreCalls(run: Run): AsyncGenerator<TurnEvent, void> {
  const { turn, output, steering } = run;
  if (!steering.sampleMoreCalls || !turn.parallelToolCalls) return;
  for (const kind of ["reasoning", "preamble", "content"] as const) output.hold(kind);
  let calls = 0;
  while (output.count("tool-call") > calls) {
    calls = output.count("tool-call");
    yield* openNext(run, []);
    const end = yield* sample(run, {
      cut: () => (output.part && output.part.kind !== "tool-call" ? "no-call" : undefined),
      exact: true,
    });
    if (end.why !== "stop") break;
    yield* output.push(run.reader.parser.end("stop"));
  }
  output.discard();
}

// Shared

/** A message the client never sees: it tells the model what was wrong. Another assistant message begins after it. */
function* showMessage(run: Run, terminator: number, message: Message): Generator<TurnEvent, void> {
  yield* run.output.push(run.reader.parser.end("stop"));
  run.reader.restart();
  run.transcript.closeMessage(terminator);
  run.transcript.appendIds(run.renderer.renderMessage(message).ids);
  run.transcript.appendIds(run.headers.assistant);
}

function* release(run: Run, outcome: Outcome): Generator<TurnEvent, Outcome> {
  yield* run.output.push(run.reader.parser.end(outcome.reason));
  yield* run.output.release();
  return outcome;
}

function toConstraint(run: Run, schema: Json | undefined): Constraint | undefined {
  const { constraints } = run.engine.capabilities;
  if (schema !== undefined) {
    if (!constraints.includes("json-schema")) return undefined;
    return { type: "json-schema", schema: toCompactJson(schema) };
  }
  return constraints.includes("json-object") ? { type: "json-object" } : undefined;
}
