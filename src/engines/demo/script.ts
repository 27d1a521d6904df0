/** Decides on the content of the rest of the turn. `compose.ts` writes it as Harmony. */
import { EngineError } from "../engine-error.ts";
import type { Constraint } from "../engine.ts";
import { createHints, type Wording } from "./hints.ts";
import { instanceOf } from "./instance.ts";
import { answerText, type Move, preambleText, reasoningText } from "./texts.ts";
import { addressOf } from "./signature.ts";
import { argumentsOf, planCalls, remainingCalls, type PlannedCall } from "./plan.ts";
import type { DemoPrompt } from "./prompt.ts";
import { nextTrainedCall, type TrainedCall, trainedAnswer } from "./trained-tools.ts";

export class Script {
  readonly move: Move;
  /** A call to a trained tool, which precedes the move. */
  readonly trainedCall: TrainedCall | undefined;
  readonly reasoning: string;
  /** The plan as the text of a preamble. */
  readonly preamble: string;
  /** Whether to write the preamble unprompted, between the first analysis and the first call. */
  readonly announcesPlan: boolean;
  readonly answer: string;
  readonly answerIsJson: boolean;
  readonly #prompt: DemoPrompt;
  readonly #seed: number;
  readonly #planned: readonly PlannedCall[];
  readonly #results: readonly string[];
  readonly #everything: Wording;

  constructor(prompt: DemoPrompt, seed: number) {
    const { question, tools, calls, answerSchema, instructions } = prompt;
    this.#prompt = prompt;
    this.#seed = seed;
    this.#planned = remainingCalls(planCalls(question, tools, instructions), calls);
    this.#results = calls.flatMap(({ result }) => result ?? []);
    this.#everything = { about: [question], whole: question };
    this.move = this.#chooseMove();
    this.trainedCall = nextTrainedCall(prompt);
    this.reasoning = reasoningText(prompt, this.move);
    this.preamble = preambleText(this.#planned.map(({ tool }) => tool.name));
    this.announcesPlan = prompt.effort === "high" && calls.length === 0 && this.#planned.length > 1;
    this.answer =
      answerSchema === undefined
        ? (trainedAnswer(prompt) ?? answerText(prompt, seed))
        : this.#document(answerSchema, this.#everything);
    this.answerIsJson = answerSchema !== undefined;
  }

  /** The arguments of a call, whether the engine or the client chose the function. */
  inputFor(recipient: string): string {
    const { question } = this.#prompt;
    if (this.trainedCall?.recipient === recipient) return this.trainedCall.body;
    if (recipient === "browser.search") return JSON.stringify({ query: question.slice(0, 100) });
    if (recipient === "python") return "print(sum(range(1, 11)))";
    const call = this.#callTo(recipient);
    return call === undefined ? "{}" : argumentsOf(call, this.#results);
  }

  /** Completes `functions.` or `functions.get_`. */
  completeRecipient(begun: string): string {
    const { tools } = this.#prompt;
    const planned = this.#planned.map(({ tool }) => tool);
    const names = [...planned, ...this.#untried(), ...tools.toReversed()].map(addressOf);
    if (names.includes(begun)) return begun;
    return names.find((name) => name.startsWith(begun)) ?? begun;
  }

  /** A text that satisfies the constraint. */
  textFor(constraint: Constraint, recipient: string | undefined): string {
    if (constraint.type === "choice") return this.#choose(constraint.options);
    if (constraint.type === "json-object") {
      if (recipient !== undefined) return this.inputFor(recipient);
      const { answerSchema } = this.#prompt;
      if (answerSchema !== undefined) return this.#document(answerSchema, this.#everything);
      return JSON.stringify({ answer: answerText(this.#prompt, this.#seed) });
    }
    const call = recipient === undefined ? undefined : this.#callTo(recipient);
    // The engine's capabilities include no other type.
    const schema = constraint.type === "json-schema" ? constraint.schema : "{}";
    return this.#document(parseSchema(schema), call?.wording ?? this.#everything);
  }

  #chooseMove(): Move {
    const { calls, awaitsResult } = this.#prompt;
    const [next] = this.#planned;
    if (next === undefined) return { type: awaitsResult ? "wait" : "answer" };
    const position = { number: calls.length + 1, of: calls.length + this.#planned.length };
    const input = argumentsOf(next, this.#results);
    return { type: "call", tool: next.tool.name, input, position };
  }

  /** Completes a recipient from the options: the next planned call, or else a tool that was not called yet. */
  #choose(options: readonly string[]): string {
    const { open } = this.#prompt;
    const begun = open.kind === "header" ? (open.recipient ?? "") : "";
    const completing = (wanted: readonly { readonly name: string }[]) =>
      options.find((option) => wanted.some((tool) => addressOf(tool) === begun + option));
    return (
      completing(this.#planned.map(({ tool }) => tool)) ??
      completing(this.#untried()) ??
      options.at(-1) ??
      ""
    );
  }

  /** Tools without a call. An agent that forces a call at each step stops at the right tool, so each tool is called once. */
  #untried(): DemoPrompt["tools"] {
    const { tools, calls } = this.#prompt;
    return tools.filter(({ name }) => !calls.some(({ tool }) => tool === name));
  }

  #callTo(recipient: string): PlannedCall | undefined {
    const tool = this.#prompt.tools.find((each) => addressOf(each) === recipient);
    const planned = this.#planned.find((call) => call.tool === tool);
    return planned ?? (tool && { tool, wording: this.#everything });
  }

  #document(schema: unknown, wording: Wording): string {
    return JSON.stringify(instanceOf(schema, createHints(wording, this.#results)));
  }
}

function parseSchema(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new EngineError("bad-request", "The schema is not JSON.", { cause: error });
  }
}
