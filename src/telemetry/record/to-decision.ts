/** A decision of a turn in its record. */
import type { Decision } from "../../turn/steering/decision.ts";
import type { DecisionNote } from "./recording.ts";
import type { RecordedDecision } from "./schema.ts";

export function toDecision({ ms, decision, outcome }: DecisionNote): RecordedDecision {
  return {
    ms,
    type: decision.type,
    outcome: outcome.type,
    ...(outcome.type === "cut" && { cut: outcome.cut }),
    ...detailsOf(decision),
  };
}

function detailsOf(decision: Decision): Partial<RecordedDecision> {
  const repair = "repair" in decision && decision.repair ? { repair: decision.repair } : {};
  switch (decision.type) {
    case "retry-answer":
      return { ...repair, problem: decision.problem };
    case "retry-call":
    case "explain-call":
      return { ...repair, name: decision.wrong.tool.name, problem: decision.wrong.problem };
    case "choose-function":
      return { ...repair, names: [...decision.names] };
    case "open-call":
    case "refuse-call":
      return { ...repair, name: decision.name };
    case "open-builtin-call":
      return { name: decision.recipient };
    case "finish":
      return { reason: decision.reason };
    case "fail":
      return { reason: decision.failure.kind, problem: decision.failure.message };
    case "open-message":
    case "open-answer":
    case "continue":
    case "constrain-turn":
    case "skip-reasoning":
    case "open-reasoning":
    case "constrain-answer":
    case "check-answer":
    case "constrain-call":
    case "check-calls":
    case "write-approved-call":
    case "run-tool":
    case "ask-for-more-calls":
      return repair;
    default:
      return decision satisfies never;
  }
}
