/**
 * The rule `prompt-extends`: the next prompt of a tool loop begins with the previous prompt and the sampled ids if and
 * only if `x-harmony-exact` reports it, and this is the case after a turn without repairs.
 */
import { o200kHarmony, SPECIAL_TOKENS, type TokenId } from "../../../src/tokenizer/index.ts";
import type { Case, PlannedMessage } from "./case.ts";
import type { Run, Violation } from "./check.ts";
import type { CallRecord } from "./engine.ts";
import { callableNames } from "./model.ts";

const CALL = SPECIAL_TOKENS["<|call|>"];

export interface NextStep {
  /** The first engine call of the step. */
  readonly call: CallRecord;
  /** The header `x-harmony-exact` of the step's answer. */
  readonly exact: string | null;
}

const CLAIM = /^(\d+)(;message=\d+;because=[a-z-]+)?$/;

export function checkExtension(given: Case, { session }: Run, next: NextStep): Violation[] {
  // After a call with further sampling, the gateway writes another token: later prompts do not contain the sampled one.
  const known = session.calls.map((call) => toBeginning(given, call));
  const sampled = known.at(-1) ?? [];
  const [, length, departure] = CLAIM.exec(next.exact ?? "") ?? [];
  const claimed = Number(length ?? 0);
  const fail = (problem: string): Violation[] => [
    {
      rule: "prompt-extends",
      detail: JSON.stringify({ problem, exact: next.exact, of: sampled.length }),
    },
  ];
  const { prompt } = next.call;
  const beginning = prompt.slice(0, claimed);
  if (!known.some((ids) => isBeginning(beginning, ids, given))) return fail("the claim is false");
  // Otherwise the last call ends before the output does, or the engine's ids are unknown.
  if (given.wire !== "ids" || sampled.at(-1) !== CALL) return [];
  const isWhole = isBeginning(sampled, prompt, given);
  const saysWhole = length !== undefined && departure === undefined && claimed === sampled.length;
  if (isWhole !== saysWhole) return fail(isWhole ? "the claim is missing" : "the claim is false");
  return !isWhole && isClean(given, session.calls) ? fail("a clean turn is not extended") : [];
}

/**
 * The ids that the engine was sent and has sampled. An unseen token at the end of the output counts as the end of a
 * call.
 */
function toBeginning({ engine }: Case, { prompt, completion, read }: CallRecord): TokenId[] {
  const ids = completion.ids.slice(0, read);
  const isUnseen = !engine.showsStopId && completion.reason === "stop";
  if (isUnseen && read === completion.ids.length) ids[read - 1] = CALL;
  return [...prompt, ...ids];
}

/** Compares the texts, because ids are not exact. */
function isBeginning(
  start: readonly TokenId[],
  whole: readonly TokenId[],
  { wire }: Case,
): boolean {
  if (wire === "ids") return start.every((id, at) => whole[at] === id);
  const spell = (ids: readonly TokenId[]) =>
    o200kHarmony()
      .decode(ids)
      .replace(/\uFFFD+$/, "");
  return spell(whole).startsWith(spell(start));
}

const CLEAN_HEADER =
  /^(?:<\|channel\|>analysis<\|message\|>| to=functions\.\w+<\|channel\|>commentary <\|constrain\|>json<\|message\|>|<\|channel\|>commentary to=functions\.\w+ <\|constrain\|>json<\|message\|>)$/;

/** Whether the turn is one sample of reasoning and one call of an offered function, with headers that need no repair. */
function isClean(given: Case, calls: readonly CallRecord[]): boolean {
  const { choices, demands } = given;
  const [plan = []] = choices;
  const [last] = plan.slice(-1);
  const isPlain = ({ header, isMalformed }: PlannedMessage) =>
    isMalformed !== true && CLEAN_HEADER.test(header);
  return (
    calls.length === 1 &&
    demands.prefill === undefined &&
    plan.every((message) => isPlain(message)) &&
    plan.every(({ role }, at) => role === (at === plan.length - 1 ? "call" : "analysis")) &&
    last?.end === "<|call|>" &&
    isObject(last.body) &&
    callableNames(given).includes(last.name ?? "")
  );
}

/** The Messages API cannot represent other arguments, and gives out others in the place of broken ones. */
function isObject(args: string): boolean {
  try {
    const value: unknown = JSON.parse(args);
    return typeof value === "object" && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}
