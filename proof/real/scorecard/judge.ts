/** Judges whether the corpus accepts an answer, and describes the problem otherwise. */
import { isDeepStrictEqual } from "node:util";
import { isSpecial, o200kHarmony } from "../../../src/tokenizer/index.ts";
import type { Outcome } from "./client.ts";
import type { Answer, CorpusTurn, PromptRule } from "./corpus.ts";
import { type PromptCall, readPromptCalls } from "./prompt-calls.ts";

export interface Verdict {
  /**
   * One of the accepted answers, and nothing else below is wrong. Undefined where a grammar of the server kept the
   * model from saying what the case is about.
   */
  readonly right?: boolean;
  /**
   * Control tokens, or reasoning, in what the user sees; control tokens in reasoning or calls. Not counted where a grammar
   * left the tiny model to itself: the words are its own.
   */
  readonly leaks: boolean;
  /** Status 500 and above, or an error inside a stream. */
  readonly fails: boolean;
  /** Whether the answer is wrong without an error. */
  readonly silent: boolean;
  /** The reasoning reached the client. Undefined where there was none. */
  readonly reasoning?: boolean;
  /** Earlier reasoning of the loop stood in the prompt. Undefined where there was none. */
  readonly carried?: boolean;
  /** Whether the prompt states the request's content. Undefined: no rule requires it. */
  readonly told?: boolean;
  /** Text of the request became control tokens. Undefined where none tried. */
  readonly injected?: boolean;
}

/**
 * @param prompts of the engine's calls for this turn, as ids.
 * @param refusal a grammar forbade a token of the completion. `excused`: it keeps any model from what the case is about.
 * @param neutral the prompt of the same request with its control tokens' spellings taken apart.
 */
export function judge(
  turn: CorpusTurn,
  outcome: Outcome,
  prompts: readonly (readonly number[])[],
  neutral: readonly number[] | undefined,
  refusal: "excused" | "counts" | undefined,
): Verdict {
  const { answer, status, error } = outcome;
  const [prompt = []] = prompts;
  const [expected] = turn.accept;
  const promptText = o200kHarmony().decode(prompt);
  const carried = turn.prompt_contains?.every((text) => promptText.includes(text));
  const injected = neutral === undefined ? undefined : countSpecial(prompt) > countSpecial(neutral);
  const isAccepted =
    turn.accept.some((each) => isSame(answer, each)) &&
    (turn.finish === undefined || outcome.finish === turn.finish) &&
    (turn.noted === undefined || outcome.raw.includes(turn.noted));
  if (refusal === "excused" && !isAccepted) return { leaks: false, fails: false, silent: false };
  const isRefused = status >= 400;
  const fails = status >= 500 || (status === 200 && error !== undefined);
  if (isRefused && turn.may_refuse) return { right: true, leaks: false, fails, silent: false };
  const leaks = (refusal === undefined || isAccepted) && leaksIn(answer, turn.accept);
  const told = isRefused || turn.prompt === undefined ? undefined : isTold(turn.prompt, prompt);
  const right =
    isAccepted &&
    error === undefined &&
    !leaks &&
    ![carried, told, injected === undefined ? undefined : !injected].includes(false);
  return {
    right,
    leaks,
    fails,
    silent: !right && error === undefined,
    ...(expected !== undefined &&
      turn.accept.every(({ reasoning }) => reasoning !== "") && {
        reasoning: flat(answer.reasoning).includes(flat(expected.reasoning)),
      }),
    ...(carried !== undefined && { carried }),
    ...(told !== undefined && { told }),
    ...(injected !== undefined && { injected }),
  };
}

function isTold({ has = [], lacks = [], calls = [] }: PromptRule, prompt: readonly number[]) {
  const text = o200kHarmony().decode([...prompt]);
  const found = readPromptCalls(prompt);
  return (
    has.every((each) => text.includes(each)) &&
    !lacks.some((each) => text.includes(each)) &&
    calls.every((call) => found.some((each) => isSameCall(each, call)))
  );
}

type WantedCall = NonNullable<PromptRule["calls"]>[number];

function isSameCall(found: PromptCall, { name, arguments: args, result }: WantedCall): boolean {
  return (
    found.recipient === `functions.${name}` &&
    isDeepStrictEqual(
      toValue({ name, arguments: found.arguments }),
      toValue({ name, arguments: args }),
    ) &&
    [found.result, fromJson(found.result)].some((text) => flat(text ?? "") === flat(result))
  );
}

/** OpenAI's template writes results as JSON strings. */
function fromJson(result: string | undefined): string | undefined {
  try {
    const value: unknown = JSON.parse(result ?? "");
    return typeof value === "string" ? value : undefined;
  } catch {
    return undefined;
  }
}

/** White space at the ends and between joined parts is free. */
function isSame(answer: Answer, accepted: Answer): boolean {
  return (
    flat(answer.content) === flat(accepted.content) &&
    flat(answer.reasoning) === flat(accepted.reasoning) &&
    isDeepStrictEqual(answer.tool_calls.map(toValue), accepted.tool_calls.map(toValue))
  );
}

function toValue({ name, arguments: args }: Answer["tool_calls"][number]) {
  try {
    return { name, value: JSON.parse(args) as unknown };
  } catch {
    return { name, text: args };
  }
}

function flat(text: string): string {
  return text.replaceAll(/\s+/g, "");
}

const MARKUP = /<\|[a-z_]+\|>/;
/** Shorter reasoning may stand in an answer by chance. */
const TELLING = 12;

function leaksIn({ content, reasoning, tool_calls }: Answer, accepted: readonly Answer[]): boolean {
  const everything = [content, reasoning, ...tool_calls.flatMap((each) => Object.values(each))];
  const allowed = accepted.map((each) => JSON.stringify(each)).join("");
  const hasMarkup = everything.some((text) => MARKUP.test(text));
  if (hasMarkup && !MARKUP.test(allowed)) return true;
  return accepted.some(
    (each) =>
      flat(each.reasoning).length >= TELLING &&
      flat(content).includes(flat(each.reasoning)) &&
      !accepted.some((other) => flat(other.content).includes(flat(each.reasoning))),
  );
}

function countSpecial(ids: readonly number[]): number {
  return ids.filter(isSpecial).length;
}
