import type { TurnRepair } from "../../../src/turn/repairs.ts";
import { expect, test } from "vitest";
import type {
  Cut,
  Decision,
  Demands,
  Outcome,
  SteeringState,
} from "../../../src/turn/steering/decision.ts";
import { nextStep } from "../../../src/turn/steering/next-step.ts";
import { offeredTool } from "../../helpers/turns.ts";

const DEMANDS: Demands = {
  requiredCalls: undefined,
  document: false,
  reasoning: true,
  tools: false,
  gatewayTools: false,
  forcedGatewayTools: [],
  prefill: false,
  moreCalls: false,
  openMissingAnswer: true,
  continueAnnouncedCalls: true,
  singleCallConstraint: false,
};

const STATE: SteeringState = {
  stage: "free",
  demands: DEMANDS,
  repairs: new Map(),
  answers: 0,
  calls: 0,
  callsBefore: 0,
  endsInPreamble: false,
  uncheckedCall: false,
  gatewayCall: false,
  approvedCalls: 0,
  refusedCall: undefined,
  holdsAnswers: false,
  holdsCalls: false,
};

interface SettingInput extends Partial<Omit<SteeringState, "demands" | "repairs">> {
  readonly demands?: Partial<Demands>;
  readonly repaired?: TurnRepair;
  /** Number of these repairs. Default: one. */
  readonly times?: number;
}

interface Row {
  readonly why: string;
  readonly given?: SettingInput;
  readonly outcome: Outcome;
  readonly decision: Decision;
}

const cut = (name: Cut): Outcome => ({ type: "cut", cut: name });
const begun: Outcome = { type: "begun" };
const stopped: Outcome = { type: "stopped" };
const finish: Decision = { type: "finish", reason: "stop" };
const wrong = { tool: offeredTool("f"), problem: "not JSON" };
const trained = (strict: boolean) => ({
  tool: {
    ...offeredTool("container.exec", undefined, strict),
    mapped: {
      name: "bash",
      profile: "opencode/1",
      isText: false,
      isRead: false,
      toClient: () => ({ problem: "not JSON" }),
    },
  },
  problem: "not JSON",
});
const [wrongTrained, wrongStrict] = [trained(false), trained(true)];
const EXPLAINED: SettingInput = { repaired: "unmapped-call", times: 2 };
const trainedFailure: Decision = {
  type: "fail",
  failure: {
    kind: "invalid_tool_call",
    message: "The arguments of bash do not satisfy its schema: not JSON",
  },
};

const TABLE: Record<string, readonly Row[]> = {
  "before the first token": [
    {
      why: "nothing is demanded: the model goes its own way",
      outcome: begun,
      decision: { type: "continue" },
    },
    {
      why: "a call is required: analysis comes first, unconstrained",
      given: { demands: { requiredCalls: ["f"] } },
      outcome: begun,
      decision: { type: "open-reasoning" },
    },
    {
      why: "a call is required without reasoning: a single function needs no choice",
      given: { demands: { requiredCalls: ["f"], reasoning: false } },
      outcome: begun,
      decision: { type: "open-call", name: "f" },
    },
    {
      why: "a call is required without reasoning: the model chooses one of several functions",
      given: { demands: { requiredCalls: ["f", "g"], reasoning: false } },
      outcome: begun,
      decision: { type: "choose-function", names: ["f", "g"] },
    },
    {
      why: "the engine can hold the whole turn to its demands",
      given: { demands: { requiredCalls: ["f"], singleCallConstraint: true } },
      outcome: begun,
      decision: { type: "constrain-turn" },
    },
    {
      why: "the answer has a prefill: no analysis can come before it",
      given: { demands: { prefill: true } },
      outcome: begun,
      decision: { type: "open-answer" },
    },
    {
      why: "without reasoning the answer is opened at once",
      given: { demands: { reasoning: false } },
      outcome: begun,
      decision: { type: "open-answer" },
    },
    {
      why: "without reasoning, but a tool may be called: opening the answer would prevent it",
      given: { demands: { reasoning: false, tools: true } },
      outcome: begun,
      decision: { type: "skip-reasoning" },
    },
  ],
  "the model ended": [
    { why: "with an answer", given: { answers: 1 }, outcome: stopped, decision: finish },
    {
      why: "with an answer that must be a document",
      given: { answers: 1, demands: { document: true } },
      outcome: stopped,
      decision: { type: "check-answer" },
    },
    {
      why: "with a call: an answer beside it need not be a document",
      given: { calls: 1, answers: 1, demands: { document: true } },
      outcome: stopped,
      decision: finish,
    },
    {
      why: "with a call whose arguments must satisfy a schema",
      given: { calls: 1, uncheckedCall: true },
      outcome: stopped,
      decision: { type: "check-calls" },
    },
    {
      why: "with a call, and may have more to make",
      given: { calls: 1, demands: { moreCalls: true } },
      outcome: stopped,
      decision: { type: "ask-for-more-calls" },
    },
    {
      why: "without an answer: it is opened",
      outcome: stopped,
      decision: { type: "open-answer", repair: "missing-answer" },
    },
    {
      why: "without an answer for the second time: it has none",
      given: { repaired: "missing-answer" },
      outcome: stopped,
      decision: { ...finish, repair: "empty-answer" },
    },
    {
      why: "without an answer, and the operator wants to see that",
      given: { demands: { openMissingAnswer: false } },
      outcome: stopped,
      decision: { ...finish, repair: "empty-answer" },
    },
    {
      why: "with nothing behind the prefill, which is an answer of its own",
      given: { demands: { prefill: true } },
      outcome: stopped,
      decision: finish,
    },
    {
      why: "without the document, and the operator does not want it opened",
      given: { demands: { document: true, openMissingAnswer: false } },
      outcome: stopped,
      decision: {
        type: "fail",
        failure: {
          kind: "invalid_answer",
          message: "The model ended without the answer that the response format asks for.",
        },
      },
    },
    {
      why: "with a preamble and nothing else: the model may have meant to call a tool",
      given: { endsInPreamble: true },
      outcome: stopped,
      decision: { type: "open-message", repair: "announced-call" },
    },
    {
      why: "with a preamble, under a constraint for the whole turn",
      given: { endsInPreamble: true, stage: "constrained-turn" },
      outcome: stopped,
      decision: { type: "open-message", repair: "announced-call" },
    },
    {
      why: "with a preamble, and nothing is to open a missing answer: its choice of the next message is another matter",
      given: { endsInPreamble: true, demands: { openMissingAnswer: false } },
      outcome: stopped,
      decision: { type: "open-message", repair: "announced-call" },
    },
    {
      why: "with a preamble for the second time: the answer is opened",
      given: { endsInPreamble: true, repaired: "announced-call" },
      outcome: stopped,
      decision: { type: "open-answer", repair: "missing-answer" },
    },
    {
      why: "with a preamble, and no tool may be called",
      given: { endsInPreamble: true, demands: { continueAnnouncedCalls: false } },
      outcome: stopped,
      decision: { type: "open-answer", repair: "missing-answer" },
    },
    {
      why: "with a preamble, where only a document counts",
      given: { endsInPreamble: true, demands: { document: true } },
      outcome: stopped,
      decision: { type: "open-answer", repair: "missing-answer" },
    },
    {
      why: "with a preamble behind an answer",
      given: { endsInPreamble: true, answers: 1 },
      outcome: stopped,
      decision: finish,
    },
    {
      why: "with a preamble behind a call",
      given: { endsInPreamble: true, calls: 1 },
      outcome: stopped,
      decision: finish,
    },
    {
      why: "with a preamble, where a call is required anyway",
      given: { endsInPreamble: true, demands: { requiredCalls: ["f"] } },
      outcome: stopped,
      decision: { type: "open-call", name: "f" },
    },
    {
      why: "with a preamble behind a call that the gateway runs",
      given: { endsInPreamble: true, gatewayCall: true },
      outcome: stopped,
      decision: { type: "run-tool" },
    },
    {
      why: "within the analysis, after which a call is forced",
      given: { stage: "reasoning", demands: { requiredCalls: ["f"] } },
      outcome: stopped,
      decision: { type: "open-call", name: "f" },
    },
    {
      why: "in the document",
      given: { stage: "answer", answers: 1 },
      outcome: stopped,
      decision: { type: "check-answer" },
    },
    {
      why: "in the arguments",
      given: { stage: "arguments", calls: 1 },
      outcome: stopped,
      decision: { type: "check-calls" },
    },
    {
      why: "under one constraint that the server honoured",
      given: { stage: "constrained-turn", calls: 1, demands: { requiredCalls: ["f"] } },
      outcome: stopped,
      decision: { type: "check-calls" },
    },
    {
      why: "under one constraint that the server ignored: the call is forced after all",
      given: { stage: "constrained-turn", demands: { requiredCalls: ["f", "g"] } },
      outcome: stopped,
      decision: { type: "choose-function", names: ["f", "g"] },
    },
    {
      why: "with a further call: there may be yet another",
      given: { stage: "more-calls", calls: 2, callsBefore: 1 },
      outcome: stopped,
      decision: { type: "ask-for-more-calls" },
    },
    {
      why: "without a further call",
      given: { stage: "more-calls", calls: 2, callsBefore: 2 },
      outcome: stopped,
      decision: finish,
    },
    {
      why: "with a further call whose arguments must satisfy a schema",
      given: { stage: "more-calls", calls: 2, callsBefore: 1, uncheckedCall: true },
      outcome: stopped,
      decision: { type: "check-calls" },
    },
  ],
  "a tool that the gateway runs": [
    {
      why: "its call is complete: it is run",
      given: { gatewayCall: true },
      outcome: cut("builtin-call"),
      decision: { type: "run-tool" },
    },
    {
      why: "the model stopped behind it, without its own token for that",
      given: { gatewayCall: true },
      outcome: stopped,
      decision: { type: "run-tool" },
    },
    {
      why: "behind a call of the client's it is not run",
      given: { gatewayCall: true, calls: 1 },
      outcome: cut("builtin-call"),
      decision: finish,
    },
    {
      why: "nor behind an answer",
      given: { gatewayCall: true, answers: 1 },
      outcome: cut("builtin-call"),
      decision: finish,
    },
    {
      why: "the limit was met in its call: half a call is not run",
      given: { gatewayCall: true },
      outcome: { type: "out-of-tokens" },
      decision: { type: "finish", reason: "length" },
    },
    {
      why: "its result is there: the model goes on",
      outcome: { type: "tool-ran", end: "answered" },
      decision: { type: "continue" },
    },
    {
      why: "without reasoning, an empty analysis message comes first again",
      given: { demands: { reasoning: false, tools: true, gatewayTools: true } },
      outcome: { type: "tool-ran", end: "answered" },
      decision: { type: "skip-reasoning" },
    },
    {
      why: "no call is left: the answer is opened",
      outcome: { type: "tool-ran", end: "exhausted" },
      decision: { type: "open-answer", repair: "exhausted-tools" },
    },
    {
      why: "no call is left where a function must be called: it is",
      given: { demands: { requiredCalls: ["f"], gatewayTools: true } },
      outcome: { type: "tool-ran", end: "exhausted" },
      decision: { type: "open-call", name: "f", repair: "exhausted-tools" },
    },
    {
      why: "the client has to approve of it",
      outcome: { type: "tool-ran", end: "awaits-approval" },
      decision: finish,
    },
    {
      why: "the client has input for the next step",
      outcome: { type: "tool-ran", end: "interrupted" },
      decision: { type: "finish", reason: "interrupted" },
    },
    {
      why: "calls that the client has approved come before its input",
      given: { approvedCalls: 1 },
      outcome: { type: "tool-ran", end: "interrupted" },
      decision: { type: "write-approved-call" },
    },
    {
      why: "approved calls come before anything is sampled",
      given: { approvedCalls: 2 },
      outcome: begun,
      decision: { type: "write-approved-call" },
    },
    {
      why: "all of them",
      given: { approvedCalls: 1 },
      outcome: { type: "tool-ran", end: "answered" },
      decision: { type: "write-approved-call" },
    },
    {
      why: "the first call must be to it",
      given: { demands: { forcedGatewayTools: ["python"], gatewayTools: true } },
      outcome: begun,
      decision: { type: "open-builtin-call", recipient: "python" },
    },
    {
      why: "the first call must be to one of them: the model says which",
      given: { demands: { forcedGatewayTools: ["docs.find", "docs.open"], gatewayTools: true } },
      outcome: begun,
      decision: { type: "choose-function", names: ["docs.find", "docs.open"] },
    },
    {
      why: "the model has said which",
      given: { demands: { forcedGatewayTools: ["docs.find", "docs.open"], gatewayTools: true } },
      outcome: { type: "function-chosen", name: "docs.open" },
      decision: { type: "open-builtin-call", recipient: "docs.open" },
    },
    {
      why: "where a function must be called, the model may use it before",
      given: { demands: { requiredCalls: ["f"], gatewayTools: true } },
      outcome: begun,
      decision: { type: "continue" },
    },
  ],
  "a limit was met": [
    {
      why: "nothing can be sampled any more, so nothing can be repaired",
      given: { stage: "answer" },
      outcome: { type: "out-of-tokens" },
      decision: { type: "finish", reason: "length" },
    },
    {
      why: "a stop string ends a document only if it is whole",
      given: { stage: "answer", answers: 1, demands: { document: true } },
      outcome: { type: "stop-sequence" },
      decision: { type: "check-answer" },
    },
    {
      why: "a stop string ends a preamble, which is no announcement then",
      given: { endsInPreamble: true },
      outcome: { type: "stop-sequence" },
      decision: finish,
    },
    {
      why: "the limit ends a preamble, which is no announcement then",
      given: { endsInPreamble: true },
      outcome: { type: "out-of-tokens" },
      decision: { type: "finish", reason: "length" },
    },
    {
      why: "a stop string ends the answer",
      given: { answers: 1 },
      outcome: { type: "stop-sequence" },
      decision: finish,
    },
  ],
  "reading was cut": [
    {
      why: "the reasoning budget is used up: the answer is next",
      outcome: cut("reasoning-budget"),
      decision: { type: "open-answer", repair: "cut-reasoning" },
    },
    {
      why: "the reasoning budget is used up: the model may still call a tool",
      given: { demands: { tools: true } },
      outcome: cut("reasoning-budget"),
      decision: { type: "open-message", repair: "cut-reasoning" },
    },
    {
      why: "a second analysis message begins: the model has had its choice",
      given: { demands: { tools: true }, repaired: "cut-reasoning" },
      outcome: cut("reasoning-budget"),
      decision: { type: "open-answer", repair: "cut-reasoning" },
    },
    {
      why: "analysis behind an announced call: the model has had its choice",
      given: { demands: { tools: true }, repaired: "announced-call" },
      outcome: cut("reasoning-budget"),
      decision: { type: "open-answer", repair: "cut-reasoning" },
    },
    {
      why: "analysis after the answer: only the answer was requested",
      given: { answers: 1 },
      outcome: cut("reasoning-budget"),
      decision: finish,
    },
    {
      why: "the reasoning budget is used up, and a call is forced after it",
      given: { stage: "reasoning", demands: { requiredCalls: ["f"], tools: true } },
      outcome: cut("reasoning-budget"),
      decision: { type: "open-call", name: "f", repair: "cut-reasoning" },
    },
    {
      why: "the analysis message is complete, and a call is forced after it",
      given: { stage: "reasoning", demands: { requiredCalls: ["f", "g"] } },
      outcome: cut("reasoning-completed"),
      decision: { type: "choose-function", names: ["f", "g"] },
    },
    {
      why: "the engine can hold the answer that begins to its schema",
      outcome: cut("answer-opened"),
      decision: { type: "constrain-answer" },
    },
    {
      why: "the document is complete: whatever follows is not shown",
      given: { answers: 1 },
      outcome: cut("answer-completed"),
      decision: { type: "check-answer" },
    },
    {
      why: "what is complete stands beside a call, and is not the answer",
      given: { answers: 1, calls: 1 },
      outcome: cut("answer-completed"),
      decision: finish,
    },
    {
      why: "the engine can hold the arguments that begin to their schema",
      given: { calls: 1 },
      outcome: cut("call-opened"),
      decision: { type: "constrain-call" },
    },
    {
      why: "the arguments are complete",
      given: { calls: 1, uncheckedCall: true },
      outcome: cut("call-completed"),
      decision: { type: "check-calls" },
    },
    {
      why: "white space without end follows the document, or stands in it",
      given: { stage: "answer", answers: 1 },
      outcome: cut("white-space"),
      decision: { type: "check-answer" },
    },
    {
      why: "white space without end follows the arguments, or stands in them",
      given: { stage: "arguments", calls: 1 },
      outcome: cut("white-space"),
      decision: { type: "check-calls" },
    },
    {
      why: "a call that may not be made is answered with an error",
      given: { refusedCall: "f" },
      outcome: cut("call-refused"),
      decision: { type: "refuse-call", name: "f", repair: "refused-call" },
    },
    {
      why: "a second call that may not be made: the answer is opened",
      given: { refusedCall: "f", repaired: "refused-call" },
      outcome: cut("call-refused"),
      decision: { type: "open-answer", repair: "refused-call" },
    },
    {
      why: "a third call that may not be made ends the turn, as if the model had stopped before it",
      given: { refusedCall: "f", answers: 1, repaired: "refused-call", times: 2 },
      outcome: cut("call-refused"),
      decision: finish,
    },
    {
      why: "a third call that may not be made, where a call is required",
      given: {
        refusedCall: "f",
        demands: { requiredCalls: ["f"] },
        repaired: "refused-call",
        times: 2,
      },
      outcome: cut("call-refused"),
      decision: { type: "open-call", name: "f" },
    },
    {
      why: "the one call that is allowed is complete",
      given: { calls: 1 },
      outcome: cut("call-limit"),
      decision: finish,
    },
    {
      why: "the model has no further call to make",
      given: { stage: "more-calls", calls: 1, callsBefore: 1 },
      outcome: cut("not-a-call"),
      decision: finish,
    },
  ],
  "a function was chosen": [
    {
      why: "its header is written by the gateway",
      outcome: { type: "function-chosen", name: "f" },
      decision: { type: "open-call", name: "f" },
    },
    {
      why: "none of them was named",
      outcome: { type: "function-chosen", name: undefined },
      decision: {
        type: "fail",
        failure: {
          kind: "invalid_tool_call",
          message: "The model did not name an offered function.",
        },
      },
    },
  ],
  "something was checked": [
    {
      why: "the answer is right",
      outcome: { type: "answer-checked", problem: undefined },
      decision: finish,
    },
    {
      why: "the answer is wrong and nobody has seen it",
      given: { holdsAnswers: true },
      outcome: { type: "answer-checked", problem: "not JSON" },
      decision: { type: "retry-answer", problem: "not JSON", repair: "invalid-answer" },
    },
    {
      why: "the answer is wrong for the second time",
      given: { holdsAnswers: true, repaired: "invalid-answer" },
      outcome: { type: "answer-checked", problem: "not JSON" },
      decision: {
        type: "fail",
        failure: {
          kind: "invalid_answer",
          message: "The model's answer does not satisfy the response format: not JSON",
        },
      },
    },
    {
      why: "the answer is wrong and has been streamed",
      outcome: { type: "answer-checked", problem: "not JSON" },
      decision: {
        type: "fail",
        failure: {
          kind: "invalid_answer",
          message: "The model's answer does not satisfy the response format: not JSON",
        },
      },
    },
    {
      why: "the calls are right",
      outcome: { type: "calls-checked", wrong: undefined },
      decision: finish,
    },
    {
      why: "a call is wrong and nobody has seen it",
      given: { holdsCalls: true },
      outcome: { type: "calls-checked", wrong },
      decision: { type: "retry-call", wrong, repair: "invalid-arguments" },
    },
    {
      why: "a call is wrong for the second time",
      given: { holdsCalls: true, repaired: "invalid-arguments" },
      outcome: { type: "calls-checked", wrong },
      decision: {
        type: "fail",
        failure: {
          kind: "invalid_tool_call",
          message: "The arguments of f do not satisfy its schema: not JSON",
        },
      },
    },
    {
      why: "a call of a trained tool is wrong",
      outcome: { type: "calls-checked", wrong: wrongTrained },
      decision: { type: "explain-call", wrong: wrongTrained, repair: "unmapped-call" },
    },
    {
      why: "a call of a trained tool is wrong after two explanations: its client will reject it",
      given: EXPLAINED,
      outcome: { type: "calls-checked", wrong: wrongTrained },
      decision: finish,
    },
    {
      why: "the same, of a strict tool",
      given: EXPLAINED,
      outcome: { type: "calls-checked", wrong: wrongStrict },
      decision: trainedFailure,
    },
    {
      why: "the same, of a tool that must be called",
      given: { ...EXPLAINED, demands: { requiredCalls: ["container.exec"] } },
      outcome: { type: "calls-checked", wrong: wrongTrained },
      decision: trainedFailure,
    },
    {
      why: "a call is wrong and has been streamed",
      outcome: { type: "calls-checked", wrong },
      decision: {
        type: "fail",
        failure: {
          kind: "invalid_tool_call",
          message: "The arguments of f do not satisfy its schema: not JSON",
        },
      },
    },
  ],
};

function toState({ demands, repaired, times = 1, ...given }: SettingInput = {}): SteeringState {
  return {
    ...STATE,
    ...given,
    demands: { ...DEMANDS, ...demands },
    repairs: new Map(repaired === undefined ? [] : [[repaired, times]]),
  };
}

for (const [situation, rows] of Object.entries(TABLE)) {
  test.each(rows)(`${situation}: $why`, ({ given, outcome, decision }) => {
    expect(nextStep(toState(given), outcome)).toEqual(decision);
  });
}
