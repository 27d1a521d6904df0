/**
 * Makes a turn meet the request's demands on any engine.
 *
 * There is one mechanism: sample up to the point where a demand applies, close the open message, append the required
 * header, and let the engine continue from there, with a constraint if it supports one. `next-step.ts` decides, this
 * module executes.
 */
import type { Message } from "../../harmony/conversation.ts";
import { resultMessage } from "../../harmony/messages.ts";
import { isTrainedTool } from "../../harmony/recipient.ts";
import { trainedResultMessage } from "../../harmony/trained-tools.ts";
import { runGatewayCall, writeGatewayCall } from "../gateway-calls/gateway-call.ts";
import { ConsumerStopped } from "../output/turn-output.ts";
import type { TokenId } from "../../tokenizer/index.ts";
import { findWrongCall, hasUncheckedCall, whyAnswerIsWrong } from "./checks.ts";
import { chooseFunction } from "./choose-function.ts";
import type { Conclusion, Decision, Demands, Outcome, SteeringState } from "./decision.ts";
import { nextStep } from "./next-step.ts";
import { leaveStage, sampleStage } from "./sample-stage.ts";
import {
  appendMessage,
  countRepair,
  emitStart,
  endMessage,
  openMessage,
  type TurnState,
} from "../turn-state.ts";

/** Resolves once all events but the end event have been emitted. */
export async function steer(state: TurnState): Promise<Conclusion> {
  const demands = toDemands(state);
  let outcome: Outcome = { type: "begun" };
  for (;;) {
    const decision = nextStep(toSteeringState(state, demands), outcome);
    state.onFact?.({ type: "decided", decision, outcome });
    if ("repair" in decision && decision.repair) countRepair(state, decision.repair);
    if (decision.type === "finish" || decision.type === "fail") return conclude(state, decision);
    outcome = await carryOut(state, decision);
  }
}

function toDemands(state: TurnState): Demands {
  const { turn, tools, steering } = state;
  const mayCall = tools.allowed.length > 0 || turn.gatewayTools !== undefined;
  return {
    requiredCalls: turn.toolChoice.type === "required" ? turn.toolChoice.names : undefined,
    document: turn.answer.type !== "text",
    reasoning: turn.reasoning.enabled,
    tools: turn.tools.length > 0 || turn.gatewayTools !== undefined,
    gatewayTools: turn.gatewayTools !== undefined,
    forcedGatewayTools: turn.gatewayTools?.forced ?? [],
    prefill: turn.prefill !== undefined,
    moreCalls: steering.sampleMoreCalls && turn.parallelToolCalls,
    openMissingAnswer: steering.openMissingAnswer,
    continueAnnouncedCalls: steering.continueAnnouncedCalls && mayCall,
    singleCallConstraint: state.singleCallConstraint !== undefined,
  };
}

function toSteeringState(state: TurnState, demands: Demands): SteeringState {
  const { stage, repairs, callsBefore, emitter } = state;
  return {
    stage,
    demands,
    repairs,
    answers: emitter.count("content"),
    calls: emitter.count("tool-call"),
    callsBefore,
    endsInPreamble: emitter.endsInPreamble,
    uncheckedCall: hasUncheckedCall(state),
    gatewayCall: emitter.hasGatewayCall,
    approvedCalls: (state.turn.gatewayTools?.approved?.length ?? 0) - state.approvedRun,
    refusedCall: emitter.refused,
    holdsAnswers: emitter.holds("content"),
    holdsCalls: emitter.holds("tool-call"),
  };
}

/** Executes a decision. Not async, because its frame would be retained as long as the model samples. */
function carryOut(state: TurnState, decision: Exclude<Decision, Conclusion>): Promise<Outcome> {
  const { tools, prefixes, emitter } = state;
  switch (decision.type) {
    case "continue":
      return sampleStage(state, "free");
    case "constrain-turn":
      return sampleStage(state, "constrained-turn");
    case "skip-reasoning":
      openMessage(state, [...prefixes.analysis, prefixes.end, ...prefixes.assistant]);
      return sampleStage(state, "free");
    case "open-reasoning":
      openMessage(state, prefixes.analysis);
      return sampleStage(state, "reasoning");
    case "open-message":
      openMessage(state);
      return sampleStage(state, "free");
    case "open-answer":
      return openAnswer(state);
    case "constrain-answer":
      return sampleStage(state, "answer");
    case "check-answer":
      endMessage(state);
      return checkAnswer(state);
    case "retry-answer":
      return retryAnswer(state, decision.problem);
    case "choose-function":
      openMessage(state);
      return chooseFunction(state, decision.names);
    case "open-call":
      openMessage(state, toCallPrefix(state, decision.name));
      return sampleStage(state, "arguments");
    case "constrain-call":
      return sampleStage(state, "arguments");
    case "check-calls":
      endMessage(state);
      return checkCalls(state);
    case "retry-call": {
      const { tool, problem } = decision.wrong;
      const error = `Error: the arguments were rejected: ${problem}. Call the function again.`;
      emitter.discard("tool-call");
      const recipient = tools.recipientOf(tool.name);
      appendMessage(state, prefixes.endOfCall, resultMessage(recipient, error));
      openMessage(state, toCallPrefix(state, tool.name));
      return sampleStage(state, "arguments");
    }
    case "explain-call": {
      const { tool, problem } = decision.wrong;
      emitter.discard("tool-call");
      state.invalidCalls.push(tool.name);
      appendMessage(state, prefixes.endOfCall, toResult(tool.name, `Error: ${problem}.`));
      return sampleStage(state, "free");
    }
    case "refuse-call": {
      const names = tools.callableNames().join(", ") || "none";
      const error = `Error: the function ${JSON.stringify(tools.shownName(decision.name))} cannot be called now. Functions: ${names}.`;
      const recipient = tools.recipientOf(decision.name);
      appendMessage(state, prefixes.endOfCall, toResult(recipient, error));
      return sampleStage(state, "free");
    }
    case "open-builtin-call":
      openMessage(state, prefixes.builtinCall(decision.recipient));
      return sampleStage(state, "free");
    case "write-approved-call":
      return writeApprovedCall(state);
    case "run-tool":
      return runGatewayCall(state);
    case "ask-for-more-calls":
      void state.output.emit(emitter.release());
      openMessage(state);
      return sampleStage(state, "more-calls");
    default:
      return decision satisfies never;
  }
}

function retryAnswer(state: TurnState, problem: string): Promise<Outcome> {
  const { emitter, prefixes } = state;
  emitter.discard("content");
  appendMessage(state, prefixes.end, {
    role: "developer",
    content:
      `The answer was rejected: ${problem}. ` +
      "Answer again with nothing but a JSON document of the requested format.",
  });
  return openAnswer(state);
}

async function checkAnswer(state: TurnState): Promise<Outcome> {
  return { type: "answer-checked", problem: await whyAnswerIsWrong(state) };
}

async function checkCalls(state: TurnState): Promise<Outcome> {
  return { type: "calls-checked", wrong: await findWrongCall(state) };
}

async function writeApprovedCall(state: TurnState): Promise<Outcome> {
  const approved = state.turn.gatewayTools?.approved?.[state.approvedRun++];
  // Nothing is sampled for an approved call, so no engine has started the turn.
  const demand = emitStart(state);
  if (!(demand === true || (await demand))) throw new ConsumerStopped();
  if (approved) writeGatewayCall(state, approved);
  return runGatewayCall(state);
}

/** Opens the answer. A prefill goes into the prompt and is not emitted. */
function openAnswer(state: TurnState): Promise<Outcome> {
  const { turn, prefixes, transcript, prefillIds } = state;
  const isDocument = turn.answer.type !== "text";
  if (turn.prefill === undefined) {
    openMessage(state, isDocument ? prefixes.finalJson : prefixes.final);
  } else {
    openMessage(state, prefixes.final);
    transcript.appendIds(prefillIds);
  }
  return sampleStage(state, isDocument ? "answer" : "free");
}

/** Emits held events, or discards them if the turn has failed. */
function conclude(state: TurnState, conclusion: Conclusion): Conclusion {
  // If no tokens were left for any engine call, `start` has not been emitted yet.
  void emitStart(state);
  leaveStage(state);
  if (conclusion.type === "fail") return conclusion;
  const isCut = conclusion.reason === "length";
  endMessage(state, isCut ? "length" : "stop");
  void state.output.emit(state.emitter.release(isCut));
  return conclusion;
}

function toCallPrefix({ tools, prefixes }: TurnState, name: string): readonly TokenId[] {
  const recipient = tools.recipientOf(name);
  if (isTrainedTool(recipient)) return prefixes.builtinCall(recipient);
  return prefixes.call(recipient, tools.bodyForm(name));
}

/** A result that the gateway writes in place of the tool's. */
function toResult(recipient: string, text: string): Message {
  const toMessage = isTrainedTool(recipient) ? trainedResultMessage : resultMessage;
  return toMessage(recipient, text);
}
