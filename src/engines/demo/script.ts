/** Decides what the rest of the turn contains. `compose.ts` writes it as Harmony. */
import { EngineError } from "../engine-error.ts";
import type { Constraint } from "../engine.ts";
import { createHints, type Wording } from "./hints.ts";
import { instanceOf } from "./instance.ts";
import type { Move } from "./move.ts";
import { addressOf } from "./signature.ts";
import { argumentsOf, planCalls, remainingCalls, type PlannedCall } from "./plan.ts";
import type { DemoPrompt } from "./prompt.ts";
import { nextTrainedCall, type TrainedCall, trainedAnswer } from "./trained-tools.ts";
import { answerText, preambleText, reasoningText } from "./texts.ts";

export interface Script {
  readonly move: Move;
  /** A call to a tool of training, which comes before the move. */
  readonly trainedCall: TrainedCall | undefined;
  readonly reasoning: string;
  /** The plan as the text of a preamble. */
  readonly preamble: string;
  /** Whether to write the preamble unprompted, between the first analysis and the first call. */
  readonly announcesPlan: boolean;
  readonly answer: string;
  readonly answerIsJson: boolean;
  /** The arguments of a call, whether the engine or the client chose the function. */
  inputFor(recipient: string): string;
  /** Completes `functions.` or `functions.get_`. */
  completeRecipient(begun: string): string;
  /** A text that satisfies the constraint. */
  textFor(constraint: Constraint, recipient: string | undefined): string;
}

export function writeScript(prompt: DemoPrompt, seed: number): Script {
  const { question, tools, calls, answerSchema, instructions } = prompt;
  const planned = remainingCalls(planCalls(question, tools, instructions), calls);
  const results = calls.flatMap(({ result }) => result ?? []);
  const everything: Wording = { about: [question], whole: question };
  const move = chooseMove();
  return {
    move,
    trainedCall: nextTrainedCall(prompt),
    reasoning: reasoningText(prompt, move),
    preamble: preambleText(planned.map(({ tool }) => tool.name)),
    announcesPlan: prompt.effort === "high" && calls.length === 0 && planned.length > 1,
    answer:
      answerSchema === undefined
        ? (trainedAnswer(prompt) ?? answerText(prompt, seed))
        : document(answerSchema, everything),
    answerIsJson: answerSchema !== undefined,
    inputFor,
    completeRecipient(begun) {
      const untried = tools.filter(isUntried);
      const names = [...planned.map(({ tool }) => tool), ...untried, ...tools.toReversed()].map(
        addressOf,
      );
      if (names.includes(begun)) return begun;
      return names.find((name) => name.startsWith(begun)) ?? begun;
    },
    textFor(constraint, recipient) {
      if (constraint.type === "choice") return choose(constraint.options);
      if (constraint.type === "json-object") {
        if (recipient !== undefined) return inputFor(recipient);
        if (answerSchema !== undefined) return document(answerSchema, everything);
        return JSON.stringify({ answer: answerText(prompt, seed) });
      }
      const call = recipient === undefined ? undefined : callTo(recipient);
      // Other types are not among the engine's capabilities.
      const schema = constraint.type === "json-schema" ? constraint.schema : "{}";
      return document(parseSchema(schema), call?.wording ?? everything);
    },
  };

  function chooseMove(): Move {
    const [next] = planned;
    if (next !== undefined) {
      const position = { number: calls.length + 1, of: calls.length + planned.length };
      const input = argumentsOf(next, results);
      return { type: "call", tool: next.tool.name, input, position };
    }
    return { type: prompt.awaitsResult ? "wait" : "answer" };
  }

  /** Options complete a recipient: chooses the next planned call, or else a tool that was not called yet. */
  function choose(options: readonly string[]): string {
    const begun = prompt.open.kind === "header" ? (prompt.open.recipient ?? "") : "";
    const completing = (wanted: readonly { readonly name: string }[]) =>
      options.find((option) => wanted.some((tool) => addressOf(tool) === begun + option));
    return (
      completing(planned.map(({ tool }) => tool)) ??
      completing(tools.filter(isUntried)) ??
      options.at(-1) ??
      ""
    );
  }

  /** An agent that forces a call at each step stops at the right tool: so each tool gets its turn. */
  function isUntried({ name }: { readonly name: string }): boolean {
    return !calls.some(({ tool }) => tool === name);
  }

  function inputFor(recipient: string): string {
    const trained = nextTrainedCall(prompt);
    if (trained?.recipient === recipient) return trained.body;
    if (recipient === "browser.search") return JSON.stringify({ query: question.slice(0, 100) });
    if (recipient === "python") return "print(sum(range(1, 11)))";
    const call = callTo(recipient);
    return call === undefined ? "{}" : argumentsOf(call, results);
  }

  function callTo(recipient: string): PlannedCall | undefined {
    const tool = tools.find((each) => addressOf(each) === recipient);
    const asPlanned = planned.find((call) => call.tool === tool);
    return asPlanned ?? (tool && { tool, wording: everything });
  }

  function document(schema: unknown, wording: Wording): string {
    return JSON.stringify(instanceOf(schema, createHints(wording, results)));
  }
}

function parseSchema(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new EngineError("bad-request", "The schema is not JSON.", { cause: error });
  }
}
