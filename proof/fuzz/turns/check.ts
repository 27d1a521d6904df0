/**
 * The rules that every turn must satisfy, whatever the model wrote: the guarantees of `docs/guarantees.md` and the
 * parser's rules.
 */
import { isDeepStrictEqual } from "node:util";
import {
  isSpecial,
  o200kHarmony,
  SPECIAL_TOKENS,
  type TokenId,
} from "../../../src/tokenizer/index.ts";
import type { Observed, ObservedCall, ObservedChoice } from "./apis.ts";
import type { Case, Wire } from "./case.ts";
import type { CallRecord, Session } from "./engine.ts";
import { mediaOf, readText } from "./media.ts";
import { callableNames } from "./model.ts";
import { ANSWER, FUNCTIONS, satisfies } from "./schemas.ts";
import { toTruth, type TrueMessage } from "./truth.ts";
import type { WorldAnswer } from "./world.ts";

export interface Violation {
  readonly rule: string;
  readonly detail: string;
}

/** The request sent in one form, and its outcome. */
export interface Run {
  readonly session: Session;
  readonly answer: WorldAnswer;
  /** Undefined: the answer could not be read; see `problem`. */
  readonly observed: Observed | undefined;
  readonly problem?: string;
}

export function checkRuns(given: Case, plain: Run, streamed: Run): Violation[] {
  const violations: Violation[] = [];
  const report = (rule: string, detail: unknown): void => {
    violations.push({
      rule,
      detail: typeof detail === "string" ? detail : JSON.stringify(detail),
    });
  };
  for (const [way, run] of Object.entries({ plain, streamed })) {
    checkConduct(given, run, (rule, detail) => report(rule, { way, ...detail }));
  }
  checkPrompts(given, plain, streamed, report);
  if (plain.observed === undefined || streamed.observed === undefined) return violations;
  // If a read is text, the tokens that were cut off are estimated, and count towards the limit.
  const isCounted =
    given.wire === "ids" ||
    given.wire === "pieces" ||
    [plain, streamed].every(({ session }) => isReadToTheEnd(session));
  const isCut = [plain, streamed].some(({ observed }) =>
    observed?.choices.some(({ finish }) => finish === "length"),
  );
  // Tokens that arrive in one read with the end of a turn were sampled, and count.
  const isEndedEarly = plain.session.calls.some((call) => isMalformedCall(call));
  if (isCounted && !isEndedEarly) checkSame(plain.observed, streamed.observed, report);
  else if (given.wire === "ids" || !isCut)
    checkSame(withoutUsage(plain.observed), withoutUsage(streamed.observed), report);
  for (const [index, choice] of plain.observed.choices.entries()) {
    const calls = plain.session.calls.filter((call) => call.choice === index);
    checkChoice(new Look(given, choice, calls), report);
  }
  checkUsage(given, plain, report);
  return violations;
}

function withoutUsage(observed: Observed): Observed {
  return { ...observed, usage: undefined };
}

function isReadToTheEnd({ calls, case: given }: Session): boolean {
  return given.engine.reportsUsage && calls.every(({ isFinished }) => isFinished);
}

type Report = (rule: string, detail: object) => void;

// ---- Engine calls ----------------------------------------------------------------------------------

function checkConduct(given: Case, run: Run, report: Report): void {
  const { session, answer, observed, problem } = run;
  if (problem !== undefined) report("readable-answer", { problem });
  if (answer.faults.length > 0) report("no-fault", { faults: answer.faults });
  if (session.open !== 0) report("engine-let-go", { open: session.open });
  const failure = observed?.error ?? observed?.choices.find(({ error }) => error)?.error ?? "";
  if (session.refusals.length > 0) report("within-limits", { refusals: session.refusals });
  const isRefusal = isHonestRefusal(given, answer.status, failure);
  const isAnswered = answer.status === 200 || isFailedTurn(given, answer.status, failure);
  if (!isAnswered && !isRefusal) {
    report("answered", { status: answer.status, text: answer.text.slice(0, 300) });
  }
  for (let choice = 0; choice < given.demands.n; choice++) {
    checkCalls(
      given,
      session.calls.filter((call) => call.choice === choice),
      session.batches.every((size) => size === 1),
      report,
    );
  }
}

/** The model did not satisfy the request, for which the Messages API has no other form. */
export function isFailedTurn({ api }: Case, status: number, why: string): boolean {
  return api === "messages" && status === 502 && /^The (?:model|arguments of)\b/.test(why);
}

function isHonestRefusal({ engine, wire, settings }: Case, status: number, why: string): boolean {
  const isTooLong = status === 400 && engine.contextLength !== undefined;
  const isUnfit = status === 502 && wire === "text" && !settings.allowHiddenMarkers;
  return (
    (isTooLong && /context length|prompt is too long/.test(why)) || (isUnfit && /hides/.test(why))
  );
}

/** Maximum engine calls of a turn, in addition to one for each further tool call. */
const MAX_CALLS = 8;

/** `isExact`: tokens were read one by one, so every token that was read was used. */
function checkCalls(
  given: Case,
  calls: readonly CallRecord[],
  isExact: boolean,
  report: Report,
): void {
  const { maxTokens } = given.demands;
  const more = given.settings.sampleMoreCalls
    ? calls.flatMap((call) => call.completion.messages.filter(({ role }) => role === "call")).length
    : 0;
  if (calls.length > MAX_CALLS + more) report("bounded-calls", { calls: calls.length });
  const isIds = given.wire === "ids" || given.wire === "pieces";
  let left = maxTokens ?? Infinity;
  for (const [index, call] of calls.entries()) {
    if (call.request.maxTokens > left) {
      report("within-limits", { index, asked: call.request.maxTokens, left });
    }
    // A large read may be used in part.
    const isCounted = isIds || (call.isFinished && given.engine.reportsUsage);
    const uncounted = hiddenTokens(given, call) + (isMalformedCall(call) ? 1 : 0);
    if (isCounted && (isExact || call.isFinished)) left -= Math.max(0, call.read - uncounted);
    const next = calls[index + 1];
    if (next !== undefined) {
      const { showsStopId } = given.engine;
      checkGrowth(call, next, { isExact, wire: given.wire, showsStopId }, report);
    }
  }
  const [first] = calls;
  if (first !== undefined) checkSpecialIds(given, first, report);
}

const {
  "<|start|>": START,
  "<|end|>": END,
  "<|call|>": CALL,
  "<|return|>": RETURN,
} = SPECIAL_TOKENS;
const TRAILERS: ReadonlySet<TokenId> = new Set([RETURN, SPECIAL_TOKENS["<|endoftext|>"]]);

/** Sampled tokens that the engine does not report. */
function hiddenTokens({ engine }: Case, { isFinished, completion }: CallRecord): number {
  const isHidden = !engine.showsStopId && !engine.reportsUsage;
  return isHidden && isFinished && completion.reason === "stop" ? 1 : 0;
}

interface Growth {
  readonly isExact: boolean;
  readonly wire: Wire;
  readonly showsStopId: boolean;
}

/** The index at which `whole` deviates from `start`; -1 if it begins with all of it. */
function firstDifference(start: ArrayLike<unknown>, whole: ArrayLike<unknown>): number {
  for (let at = 0; at < start.length; at++) if (start[at] !== whole[at]) return at;
  return -1;
}

function spell(ids: readonly TokenId[]): string {
  return o200kHarmony()
    .decode(ids)
    .replace(/\uFFFD+$/, "");
}

/**
 * The next prompt begins with this one and, except for a name that was only chosen, the part of the completion that was
 * read.
 */
function checkGrowth(
  call: CallRecord,
  next: CallRecord,
  { isExact, wire, showsStopId }: Growth,
  report: Report,
): void {
  const { prompt, completion, read } = call;
  const isName = completion.messages.some(({ isChoice }) => isChoice);
  const isTaken = !isName && (isExact || call.isFinished);
  let kept: readonly TokenId[] = isTaken ? completion.ids.slice(0, read) : [];
  const last = kept.at(-1);
  const isHidden = !showsStopId && isTaken && call.isFinished && completion.reason === "stop";
  if (last !== undefined && (isHidden || TRAILERS.has(last))) kept = kept.slice(0, -1);
  // A turn ended by invented messages is aborted one token later.
  if (isMalformedCall(call)) kept = kept.slice(0, -1);
  // A header without a message is left out.
  if (kept.at(-2) === START) kept = kept.slice(0, -2);
  // Text may be truncated within a token.
  if (!call.isFinished && (wire === "markers" || wire === "text")) kept = kept.slice(0, -1);
  if (wire === "text") kept = kept.filter((id) => !isSpecial(id));
  // Text is encoded again: its ids may differ, but not its characters.
  const [former, sent]: readonly ArrayLike<TokenId | string>[] =
    wire === "ids"
      ? [[...prompt, ...kept], next.prompt]
      : [spell([...prompt, ...kept]), spell(next.prompt)];
  const at = firstDifference(former ?? [], sent ?? []);
  if (at >= 0) report("prompt-grows", { at, of: former?.length, sent: prompt.length });
}

/** The messages of the history are all the structure of a first prompt: client text adds none. */
function checkSpecialIds(given: Case, { prompt }: CallRecord, report: Report): void {
  const starts = prompt.filter((id) => id === START).length;
  const ends = prompt.filter((id) => id === END || id === CALL || id === RETURN).length;
  const users = countPairs(prompt, START, USER);
  const expected = given.history.filter(({ role }) => role === "user").length;
  if (users !== expected) report("client-text-is-text", { users, expected });
  const isOpen = given.demands.prefill !== undefined || given.demands.effort === "none";
  if (!isOpen && given.demands.reasoningBudget !== 0 && starts !== ends + 1) {
    report("client-text-is-text", { starts, ends });
  }
}

const USER: TokenId = 1428;

/** Checks that equal requests have equal prompts, with a text for each image and file. */
function checkPrompts(given: Case, plain: Run, streamed: Run, report: Report): void {
  const [first, other] = [plain, streamed].map(({ session }) => session.calls[0]?.prompt);
  if (first === undefined || other === undefined) return;
  if (!isDeepStrictEqual(first, other)) report("same-prompt", { of: [first.length, other.length] });
  const text = o200kHarmony().decode(first);
  for (const medium of given.history.flatMap((entry) => mediaOf(entry))) {
    // An engine that is sent text gets spelled control tokens broken up.
    const lines = readText(medium)
      .split("\n")
      .filter((line) => given.wire === "ids" || !line.includes("<|"));
    const missing = lines.find((line) => !text.includes(line));
    if (missing !== undefined) report("media-are-read", { medium, missing });
  }
}

function countPairs(ids: readonly TokenId[], first: TokenId, second: TokenId): number {
  return ids.filter((id, at) => id === first && ids[at + 1] === second).length;
}

// ---- Both ways of asking ---------------------------------------------------------------------------

function checkSame(plain: Observed, streamed: Observed, report: Report): void {
  const [a, b] = [withoutIds(plain), withoutIds(streamed)];
  const reasons = [plain, streamed].map(({ choices }) =>
    choices.map(({ nativeReason }) => nativeReason),
  );
  if (
    plain.error === undefined &&
    streamed.error === undefined &&
    !isDeepStrictEqual(reasons[0], reasons[1])
  ) {
    report("same-native-reason", { reasons });
  }
  if (isDeepStrictEqual(a, b)) return;
  // A failing plain answer has no choices; a stream may have begun some.
  const failure = streamed.error ?? streamed.choices.find(({ error }) => error)?.error;
  if (plain.error !== undefined && plain.error === failure) return;
  report("stream-equals-plain", { plain: a, streamed: b });
}

function withoutIds(observed: Observed): Observed {
  return {
    ...observed,
    choices: observed.choices.map((choice) => ({
      ...choice,
      nativeReason: null,
      // No entries are an empty list in one form and no list in the other.
      logprobs: choice.logprobs ?? [],
      calls: choice.calls.map((call) => ({ ...call, id: "" })),
    })),
  };
}

// ---- Observed output -------------------------------------------------------------------------------

class Look {
  readonly case: Case;
  readonly choice: ObservedChoice;
  readonly calls: readonly CallRecord[];
  readonly truth: readonly TrueMessage[];

  constructor(given: Case, choice: ObservedChoice, calls: readonly CallRecord[]) {
    this.case = given;
    this.choice = choice;
    this.calls = calls;
    this.truth = toTruth(calls);
  }

  get isMalformed(): boolean {
    return this.truth.some((message) => message.isMalformed);
  }

  /** The names of which a call must have one: undefined if no call is required. */
  get required(): readonly string[] | undefined {
    const { toolChoice } = this.case.demands;
    const isRequired =
      toolChoice.type === "required" ||
      toolChoice.type === "named" ||
      (toolChoice.type === "allowed" && toolChoice.mode === "required");
    return isRequired ? callableNames(this.case) : undefined;
  }

  get hasTools(): boolean {
    const { tools, toolChoice } = this.case.demands;
    return tools.length > 0 && toolChoice.type !== "none";
  }

  /** No constraints, so everything the model wrote is emitted. */
  get isFree(): boolean {
    const { demands, settings } = this.case;
    const { toolChoice, tools, format, parallelToolCalls, effort } = demands;
    const isUnrestricted = toolChoice.type === "auto" || toolChoice.type === "none";
    return (
      isUnrestricted &&
      !settings.sampleMoreCalls &&
      !settings.refuseUnofferedTools &&
      parallelToolCalls &&
      format === "text" &&
      effort !== "none" &&
      !tools.some(({ strict }) => strict)
    );
  }

  /** The engine was called until its limit. */
  get isCutByLimit(): boolean {
    const last = this.calls.at(-1);
    return last?.isFinished === true && last.completion.reason === "length";
  }
}

function checkChoice(look: Look, report: Report): void {
  checkFinish(look, report);
  checkEmpty(look, report);
  checkMixing(look, report);
  checkMadeCalls(look, report);
  checkDemands(look, report);
  checkBudgets(look, report);
  checkStops(look, report);
  if (look.case.wire === "text") return;
  if (!look.isMalformed && look.isFree) checkWhole(look, report);
  if (!look.isMalformed) checkOrder(look, report);
  if (!look.isMalformed) checkLogprobs(look, report);
}

const FINISHES = new Set(["stop", "length", "tool-calls", "error"]);

function checkFinish({ choice, calls, case: given }: Look, report: Report): void {
  const { finish } = choice;
  if (!FINISHES.has(finish)) report("finish-known", { finish });
  if ((finish === "error") !== (choice.error !== undefined)) {
    report("error-said", { finish, error: choice.error ?? null });
  }
  if (finish === "stop" && choice.calls.length > 0) report("finish-fits", { finish });
  if (finish === "tool-calls" && choice.calls.length === 0) report("finish-fits", { finish });
  const met = calls.some(
    ({ completion, isFinished }) => isFinished && completion.reason === "length",
  );
  const used = calls.reduce((sum, call) => sum + call.read, 0);
  // Text that the gateway cut off was counted by encoding it, which may give more tokens than the model wrote.
  const isIds = given.wire === "ids" || given.wire === "pieces";
  const estimated = isIds ? 0 : calls.filter(({ isFinished }) => !isFinished).length;
  const isOver = calls.some(({ request }) => used + estimated >= request.maxTokens);
  const isFull = given.engine.contextLength !== undefined;
  if (finish === "length" && !met && !isOver && !isFull) report("length-is-true", { used });
}

/** An empty answer is opened once more, and said to be empty. */
function checkEmpty({ choice, calls, case: given }: Look, report: Report): void {
  const { demands, settings, api } = given;
  if (choice.finish !== "stop" || choice.content !== "" || choice.calls.length > 0) return;
  if (demands.format !== "text" || demands.prefill !== undefined || demands.stop.length > 0) return;
  if (settings.openMissingAnswer && calls.length < 2) {
    report("empty-answer-opened", { calls: calls.length });
  }
  const { nativeReason } = choice;
  if (api === "chat" && nativeReason !== "empty_answer")
    report("empty-answer-said", { nativeReason });
}

/** The words of reasoning, preambles, answers and arguments show where they come from. */
function checkMixing({ choice, truth, case: given }: Look, report: Report): void {
  const { content, reasoning } = choice;
  if (given.wire === "text" && given.settings.allowHiddenMarkers) return;
  const isGarbled = given.wire === "text" && truth.some(({ isMalformed }) => isMalformed);
  if (!isGarbled && /tho\d/.test(content)) report("reasoning-not-in-content", { content });
  if (given.wire === "text") return;
  const isShownAsContent = truth.every(
    ({ role, text }) => role !== "call" || !text.includes("tho"),
  );
  const isClean = isShownAsContent && truth.every(({ isMalformed }) => !isMalformed);
  if (isClean && choice.calls.some(({ args }) => /(?:tho|ans|pre)\d/.test(args))) {
    report("only-arguments-in-calls", { calls: choice.calls });
  }
  if (/ans\d/.test(reasoning)) report("content-not-in-reasoning", { reasoning });
  if (/pre\d/.test(reasoning) && given.demands.format === "text") {
    report("content-not-in-reasoning", { reasoning });
  }
  if (given.demands.hidesReasoning && reasoning !== "") report("hidden-reasoning", { reasoning });
}

function checkMadeCalls(look: Look, report: Report): void {
  const { choice, truth, hasTools } = look;
  const { demands } = look.case;
  if (!hasTools && choice.calls.length > 0) report("no-tools-no-calls", { calls: choice.calls });
  if (!demands.parallelToolCalls && choice.calls.length > 1) {
    report("one-call-only", { calls: choice.calls });
  }
  if (demands.toolChoice.type !== "auto") {
    const names = callableNames(look.case);
    const wrong = choice.calls.filter(({ name }) => !names.includes(name));
    if (wrong.length > 0) report("only-allowed-calls", { wrong });
  }
  const ids = new Set(choice.calls.map(({ id }) => id));
  if (ids.size !== choice.calls.length) report("call-ids-differ", { calls: choice.calls });
  if (look.isMalformed || look.case.wire === "text") return;
  const made = truth.filter(({ role }) => role === "call");
  const isMade = (call: ObservedCall) =>
    made.some((each) => each.name === call.name && sameArguments(call.args, each, look.case.api));
  const invented = choice.calls.filter((call) => !isMade(call));
  if (invented.length > 0) report("no-invented-call", { invented, made });
}

function sameArguments(args: string, { text, isCut }: TrueMessage, api: string): boolean {
  const expected = toArguments(text);
  if (api === "messages") return isCut || sameObject(args, expected);
  return args === expected || (isCut && toArguments(text).startsWith(args.replace(/\uFFFD+$/, "")));
}

/** The Messages API has arguments as an object, and repairs others in its own way. */
function sameObject(args: string, expected: string): boolean {
  if (!isJson(expected)) return true;
  const value: unknown = JSON.parse(expected);
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isDeepStrictEqual(JSON.parse(args), isObject ? value : {});
}

/** Rule R5: trimmed, `{}` if empty, and without brackets after a complete object. */
function toArguments(text: string): string {
  const trimmed = text.trim();
  if (trimmed === "") return "{}";
  for (let end = trimmed.length; end > 1 && /[\s\]}]/.test(trimmed[end - 1] ?? ""); end--) {
    const candidate = trimmed.slice(0, end);
    if (candidate.startsWith("{") && isJson(candidate)) return candidate;
  }
  return trimmed;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function checkDemands(look: Look, report: Report): void {
  const { choice, required, hasTools } = look;
  const { demands, engine } = look.case;
  const strict = new Set(demands.tools.filter((tool) => tool.strict).map(({ name }) => name));
  const isCut = choice.finish === "length" || choice.finish === "error";
  for (const call of isCut ? choice.calls.slice(0, -1) : choice.calls) {
    const isOffered = demands.tools.some(({ name }) => name === call.name);
    const mustFit = (strict.has(call.name) || required !== undefined) && isOffered;
    if (mustFit && !satisfies(call.args, FUNCTIONS[call.name]))
      report("call-satisfies-schema", call);
  }
  if (required !== undefined && choice.finish === "stop") {
    report("required-call-made", { finish: choice.finish });
  }
  if (demands.format !== "text" && choice.finish === "stop" && required === undefined) {
    const schema = demands.format === "json-schema" ? ANSWER : undefined;
    const document = (demands.prefill ?? "") + choice.content;
    const isOwn = satisfies(choice.content, schema);
    if (!isOwn && !satisfies(document, schema) && demands.stop.length === 0) {
      report("answer-satisfies-format", { content: choice.content });
    }
  }
  // An engine that constrains everything makes failures impossible.
  const canHold =
    engine.honoursConstraints &&
    engine.constraints.includes("choice") &&
    engine.constraints.includes("json-object") &&
    demands.prefill === undefined &&
    // An answer that a stop string cuts, or that nothing opens, is not a document.
    !/the stop string/.test(choice.error ?? "") &&
    (look.case.settings.openMissingAnswer ||
      !/ended without the answer/.test(choice.error ?? "")) &&
    // If only the header's words are left, some are not recognized.
    !(look.case.wire === "text" && look.case.settings.allowHiddenMarkers);
  if (canHold && choice.finish === "error" && look.calls.every((call) => !isMalformedCall(call))) {
    report("constraint-used", { error: choice.error, hasTools });
  }
  if (demands.effort === "none" && choice.reasoning !== "") {
    const isFolded = demands.format !== "text" && !/tho\d/.test(choice.reasoning);
    if (!isFolded) report("no-reasoning-at-effort-none", { reasoning: choice.reasoning });
  }
}

/** A malformed message may be the one that failed. */
function isMalformedCall({ completion }: CallRecord): boolean {
  return completion.messages.some(({ isMalformed }) => isMalformed);
}

const MAX_CHARACTER_TOKENS = 3;

function checkBudgets({ case: given, truth }: Look, report: Report): void {
  const { reasoningBudget, maxTokens } = given.demands;
  // Tokens of text are the tokenizer's, which the model may have split further, at the end also within a character.
  const isSplit = given.choices.flat().some((message) => message.isSplit === true);
  const isCounted = given.wire === "pieces" && !isSplit;
  if (given.wire !== "ids" && !isCounted) return;
  const slack = isCounted ? MAX_CHARACTER_TOKENS : 0;
  const reasoningTokens = truth
    .filter(({ role, isMalformed }) => role === "analysis" && !isMalformed)
    .reduce((sum, { tokens }) => sum + tokens, 0);
  if (reasoningBudget !== undefined && reasoningTokens > reasoningBudget + slack) {
    report("reasoning-budget", { reasoningTokens, reasoningBudget });
  }
  const { answerReserve } = given.settings;
  if (maxTokens === undefined || answerReserve === 0 || maxTokens <= answerReserve) return;
  if (reasoningTokens > maxTokens - answerReserve + slack) {
    report("answer-reserve", { reasoningTokens, maxTokens });
  }
}

/** No answer contains a stop string, not even across the join with a neighbouring preamble. */
function checkStops({ choice, case: given, truth, isMalformed }: Look, report: Report): void {
  // In a malformed turn a call without its recipient is a preamble.
  const shown = isMalformed ? /preamble|final|call/ : /preamble|final/;
  const texts = truth.filter(({ role, text }) => shown.test(role) && text !== "");
  // Consecutive preambles are one text to the client, and are not searched.
  const preambles = texts
    .map(({ role, text }) => (role === "final" ? "\0" : text))
    .join("\n\n")
    .split(/(?:\n\n)?\0(?:\n\n)?/);
  // If only the header's words are left, text after a preamble may be read as part of it.
  if (given.wire === "text" && texts.some(({ role }) => role === "preamble")) return;
  for (const stop of given.demands.stop) {
    if (!choice.content.includes(stop)) continue;
    const isInPreamble = preambles.some((text) => text.includes(stop));
    if (!isInPreamble) report("stop-not-shown", { stop, content: choice.content });
  }
}

// ---- Completeness and order ------------------------------------------------------------------------

function checkWhole(look: Look, report: Report): void {
  const { choice, hasTools, case: given, calls } = look;
  const truth = look.truth.filter(
    ({ role, text, isCut }) => text !== "" || (role === "call" && !isCut),
  );
  const isText = ({ role }: TrueMessage) =>
    role === "final" || role === "preamble" || (role === "call" && !hasTools);
  const analysis = given.demands.hidesReasoning
    ? []
    : truth.filter(({ role }) => role === "analysis");
  const reasoning = joined(analysis);
  // Text is counted in characters as well as in tokens, and may be truncated within one.
  const isCut = given.wire === "markers" && calls.some(({ isFinished }) => !isFinished);
  const isCutWithin = isCut && isCutWithinTokens(choice.reasoning, analysis);
  if (!isCutWithin && !isSameText(choice.reasoning, reasoning)) {
    report("whole-reasoning", { expected: reasoning, observed: choice.reasoning });
  }
  // A call that was not offered is text, and nothing if it has no body.
  const texts = truth.filter((message) => isText(message) && message.text !== "");
  const contents = toStopped(texts, given.demands.stop);
  const isStopped = !contents.includes(joined(texts));
  if (!contents.some((content) => isSameText(choice.content, content))) {
    report("whole-content", { expected: contents, observed: choice.content });
  }
  const made = hasTools ? truth.filter(({ role }) => role === "call") : [];
  const isEach =
    made.length === choice.calls.length &&
    made.every((each, at) => {
      const call = choice.calls[at];
      return (
        call !== undefined && call.name === each.name && sameArguments(call.args, each, given.api)
      );
    });
  if (!isEach && !isStopped) report("whole-calls", { expected: made, observed: choice.calls });
  const isLength = look.isCutByLimit && !isStopped;
  if (isLength && choice.finish !== "length") {
    report("length-said", { finish: choice.finish, calls: calls.length });
  }
}

function joined(messages: readonly TrueMessage[]): string {
  return messages.map(({ text }) => text).join("\n\n");
}

/** Length of the longest token of ordinary words that the search's model writes. */
const LONGEST_TOKEN = 24;

/** Whether the text is that of the messages, each of which may lack a part of its last token. */
function isCutWithinTokens(observed: string, messages: readonly TrueMessage[]): boolean {
  const [first, ...others] = messages;
  if (first === undefined) return observed === "";
  const { text } = first;
  for (let lacking = 0; lacking <= Math.min(LONGEST_TOKEN, text.length); lacking++) {
    const kept = text.slice(0, text.length - lacking);
    if (others.length === 0 && observed === kept) return true;
    const begun = `${kept}\n\n`;
    if (others.length > 0 && observed.startsWith(begun)) {
      return isCutWithinTokens(observed.slice(begun.length), others);
    }
  }
  return false;
}

/** A truncated character is emitted as one replacement character, or not at all. */
function isSameText(a: string, b: string): boolean {
  return a === b || a.replace(/\uFFFD+$/, "") === b.replace(/\uFFFD+$/, "");
}

/**
 * The text that a stop string leaves. A stop string within preambles does not end the turn, because the rest would be
 * lost; one that begins in a preamble, which has been sent by then, ends the turn after it.
 */
function toStopped(texts: readonly TrueMessage[], stops: readonly string[]): string[] {
  const whole = joined(texts);
  const preambles = toPreambleRanges(texts);
  const ends = stops.flatMap((stop) => {
    for (let at = whole.indexOf(stop); at >= 0; at = whole.indexOf(stop, at + 1)) {
      const preamble = preambles.find(({ from, to }) => from <= at && at < to);
      if (preamble === undefined) return [at];
      if (at + stop.length > preamble.to) return [preamble.to];
    }
    return [];
  });
  const cut = whole.slice(0, Math.min(whole.length, ...ends));
  return [cut, cut.replace(/\n\n$/, "")];
}

/** The positions of preambles in the joined text. Consecutive ones are one text to the client. */
function toPreambleRanges(texts: readonly TrueMessage[]): { from: number; to: number }[] {
  const ranges: { from: number; to: number }[] = [];
  let at = 0;
  for (const [index, { role, text }] of texts.entries()) {
    const last = ranges.at(-1);
    if (role === "preamble") {
      if (last !== undefined && texts[index - 1]?.role === "preamble") last.to = at + text.length;
      else ranges.push({ from: at, to: at + text.length });
    }
    at += text.length + "\n\n".length;
  }
  return ranges;
}

/** The text of each kind is emitted in the order in which it was written, and only once. */
function checkOrder({ choice, truth }: Look, report: Report): void {
  const written = truth.flatMap(({ text }) => wordsOf(text));
  for (const text of [choice.reasoning, choice.content]) {
    let at = 0;
    for (const word of wordsOf(text)) {
      const found = written.indexOf(word, at);
      // The last word may be truncated.
      if (found < 0 && text.endsWith(word)) break;
      if (found < 0) {
        report("order", { word, text, written });
        break;
      }
      at = found + 1;
    }
  }
}

/**
 * A client continues a tool loop, with or without the reasoning it got: the model gets all of it back, and its calls,
 * in the original order. `next`: the first engine call of the next turn.
 */
export function checkFollowUp(
  given: Case,
  plain: Run,
  next: CallRecord,
  keepsReasoning: boolean,
): Violation[] {
  const [choice] = plain.observed?.choices ?? [];
  if (choice === undefined) return [];
  const look = new Look(given, choice, plain.session.calls);
  // If no attempt was discarded, the next prompt contains everything that was written.
  const made = look.truth.filter(({ role }) => role === "call");
  const isWhole = made.length === choice.calls.length && given.demands.effort !== "none";
  if (!isWhole || look.isMalformed || choice.finish !== "tool-calls") return [];
  // If the API has a place for an answer next to a call, the reasoning before the answer is not rendered again.
  const answer =
    given.api === "responses"
      ? look.truth.findLastIndex(({ role, text }) => role === "final" && text !== "")
      : -1;
  const written = look.truth
    .filter(({ role }, at) => (role === "analysis" && at > answer) || role === "call")
    // The Messages API cannot represent arguments that are not an object.
    .filter(({ role, text }) => given.api !== "messages" || role !== "call" || beginsObject(text))
    .map((message) => ({ message, words: wordsOf(message.text) }));
  const text = o200kHarmony().decode(next.prompt);
  const loop = text.slice(text.lastIndexOf("<|start|>user<|message|>"));
  // Chat Completions has one field for all reasoning of a message: a client that sends it back has lost the order.
  const isAnyOrder = given.api === "chat" && keepsReasoning;
  const order = (words: readonly string[]) => (isAnyOrder ? words.toSorted() : words);
  const problemWith = (expected: readonly string[]): Violation | undefined => {
    const returned = wordsOf(loop).filter((word) => expected.includes(word));
    if (isDeepStrictEqual(order(returned), order(expected))) return undefined;
    return { rule: "reasoning-comes-back", detail: JSON.stringify({ expected, returned }) };
  };
  const problem = problemWith(written.flatMap(({ words }) => words));
  if (problem === undefined || given.wire !== "markers")
    return problem === undefined ? [] : [problem];
  // If the engine gives no token ids, a cut may fall within the last word of the reasoning.
  const whole = written.flatMap(({ message: { role, isCut }, words }) =>
    isCut && role === "analysis" ? words.slice(0, -1) : words,
  );
  return problemWith(whole) === undefined ? [] : [problem];
}

function beginsObject(args: string): boolean {
  return args.trimStart().startsWith("{");
}

function wordsOf(text: string): string[] {
  return text.match(/(?:tho|pre|ans|arg)\d+/g) ?? [];
}

function checkLogprobs(
  { choice, truth, case: given, isFree, hasTools }: Look,
  report: Report,
): void {
  if (given.demands.topLogprobs === undefined || !isFree) return;
  const shown = choice.logprobs ?? [];
  const answer = truth
    .filter(({ role }) => role === "final" || (role === "call" && !hasTools))
    .map(({ text }) => text)
    .join("");
  if (shown.some(({ bytes }) => bytes === null)) {
    report("logprob-bytes", { shown: shown.filter(({ bytes }) => bytes === null) });
    return;
  }
  if (given.demands.stop.length > 0) return;
  const bytes = shown.flatMap((each) => each.bytes ?? []);
  const text = new TextDecoder().decode(Uint8Array.from(bytes));
  if (!isSameText(text, answer)) report("logprobs-of-answer", { text, answer });
}

// ---- Counting --------------------------------------------------------------------------------------

function checkUsage(given: Case, { observed, session }: Run, report: Report): void {
  const usage = observed?.usage;
  if (usage === undefined) return;
  const { calls } = session;
  const { maxTokens, n } = given.demands;
  const [first] = calls;
  if (usage.total !== usage.prompt + usage.completion) report("usage-adds-up", usage);
  if (usage.reasoning > usage.completion) report("usage-adds-up", usage);
  if (maxTokens !== undefined && usage.completion > n * maxTokens) {
    report("usage-within-limit", { ...usage, maxTokens });
  }
  const isExact = given.wire === "ids" || given.wire === "pieces";
  if (first !== undefined && isExact && usage.prompt !== first.prompt.length) {
    report("usage-of-prompt", { usage, sent: first.prompt.length });
  }
  const read = calls.reduce((sum, call) => sum + call.read, 0);
  const hidden = calls.reduce((sum, call) => sum + hiddenTokens(given, call), 0);
  // Tokens after the end of a turn belong to nothing.
  const ignored = calls.filter((call) => isMalformedCall(call)).length;
  if (isExact && (usage.completion > read || usage.completion < read - hidden - ignored)) {
    report("usage-of-completion", { usage, read, hidden });
  }
  if (given.wire !== "ids" || calls.some((call) => isMalformedCall(call))) return;
  const reasoningTokens = [...Array(n).keys()]
    .flatMap((choice) => toTruth(calls.filter((call) => call.choice === choice)))
    .filter(({ role }) => role === "analysis")
    .reduce((sum, { tokens }) => sum + tokens, 0);
  if (usage.reasoning !== reasoningTokens && given.demands.effort !== "none") {
    report("usage-of-reasoning", { usage, reasoningTokens });
  }
}
