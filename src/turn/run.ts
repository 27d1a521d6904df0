/** Runs a turn: renders the conversation, calls the engine and emits its output as events. */
import type { Engine } from "../engines/engine.ts";
import { createPushStream, type PushStream } from "../streams/push-stream.ts";
import { createMessagePrefixes } from "../harmony/message-prefixes.ts";
import type { BuiltinName } from "../harmony/parse.ts";
import type { RenderedPrompt } from "../harmony/prompt.ts";
import { isBuiltInTool } from "../harmony/recipient.ts";
import type { Layout } from "../harmony/render.ts";
import { o200kHarmony, type TokenId } from "../tokenizer/index.ts";
import { toAffinity } from "./prompt/affinity.ts";
import type { CacheSalts } from "./prompt/cache-salt.ts";
import { type BuiltinRuns, createBuiltinRuns } from "./builtin-calls/builtin-runs.ts";
import { findCheckedTool } from "./steering/checks.ts";
import type { OnFact, ParsingOptions } from "./facts.ts";
import type { Conclusion } from "./steering/next-step.ts";
import type { EmittedBuiltins } from "./output/open-call.ts";
import { PartEmitter } from "./output/part-emitter.ts";
import {
  encodeText,
  type PromptOptions,
  rendererFor,
  sharePrompt,
  tooLong,
} from "./prompt/prompt.ts";
import { createRepetitionGuard } from "./reading/repetition.ts";
import { toSingleCallConstraint } from "./steering/single-call-constraint.ts";
import type { Pause } from "../streams/slices.ts";
import { steer } from "./steering/steer.ts";
import type { Steering } from "./steering/settings.ts";
import { noteExactness } from "./sampled/exactness.ts";
import { createStepCutter } from "./sampled/step-cutter.ts";
import { createTranscript, sentLength } from "./prompt/transcript.ts";
import { TurnError } from "./turn-error.ts";
import { toMarkerReading } from "./reading/shown-markers.ts";
import { createTurnParser } from "./reading/turn-parser.ts";
import { TurnOutput } from "./output/turn-output.ts";
import { countRepair, type TurnState } from "./turn-state.ts";
import type {
  FinishReason,
  Part,
  Turn,
  TurnBuiltins,
  TurnEnd,
  TurnEvent,
  TurnUsage,
} from "./turn.ts";
import { createUsageCounter } from "./reading/usage-counter.ts";

export interface RunDeps {
  readonly engine: Engine;
  readonly steering: Steering;
  /** Context length in tokens, prompt and completion together, if known. */
  readonly contextLength: number | undefined;
  readonly layout: Layout;
  /**
   * Returns `call_` and an unguessable suffix: the id is the key under which the call's reasoning is stored.
   */
  readonly newCallId: () => string;
  /** Absent: engines share one prefix cache between all tenants. */
  readonly cacheSalts?: CacheSalts | undefined;
  /** Called between slices of long work. */
  readonly pause: Pause;
  /** Absent: nobody listens. */
  readonly onFact?: OnFact | undefined;
  /** Default: false. The events are the same (see `ordinary.ts`). */
  readonly disableFastPath?: boolean;
}

/**
 * Emits `start` once the engine has accepted the request, then the parts as they are generated, then `end`.
 *
 * Fails with a `TurnError` before the engine is called, or with an `EngineError` at any time. Aborting the
 * signal, or a consumer that wants no more events, closes the engine's connection.
 */
export function runTurn(turn: Turn, deps: RunDeps, signal: AbortSignal): PushStream<TurnEvent> {
  return createPushStream(async (consumer) => {
    const output = new TurnOutput(consumer, deps.onFact);
    const encoding = encodeTurn(turn, deps, signal);
    // `await` costs a microtask even for a plain value.
    const encoded = encoding instanceof Promise ? await encoding : encoding;
    const salting = deps.cacheSalts?.(turn.tenant);
    const cacheSalt = salting instanceof Promise ? await salting : salting;
    const state = prepare(turn, { ...encoded, cacheSalt }, deps, output, signal);
    if (encoded.prompt.length > LONG_PROMPT) await deps.pause();
    try {
      const conclusion = await steer(state);
      await output.emit([toEnd(state, conclusion)]);
    } catch (error) {
      // If the consumer stopped early, the error is only that the engine was not read to its end.
      if (await output.demand) throw error;
    } finally {
      await state.builtins?.close();
    }
  });
}

/**
 * Longer prompts, in tokens, yield to the event loop before they are sent: each of `n` choices serialises its
 * own.
 */
const LONG_PROMPT = 16_384;

/** What the engine continues. */
interface EncodedTurn {
  readonly prompt: RenderedPrompt;
  readonly prefillIds: readonly TokenId[];
}

function encodeTurn(
  turn: Turn,
  { layout, contextLength, pause }: RunDeps,
  signal: AbortSignal,
): EncodedTurn | Promise<EncodedTurn> {
  const options = { layout, tenant: turn.tenant, contextLength, pause, signal };
  if (turn.prefill !== undefined) return encodeWithPrefill(turn.messages, turn.prefill, options);
  const prompt = sharePrompt(turn.messages, options);
  if (prompt instanceof Promise) return prompt.then((each) => ({ prompt: each, prefillIds: [] }));
  return { prompt, prefillIds: [] };
}

async function encodeWithPrefill(
  messages: Turn["messages"],
  prefill: string,
  options: PromptOptions,
): Promise<EncodedTurn> {
  const prompt = await sharePrompt(messages, options);
  return { prompt, prefillIds: await encodeText(prefill, options) };
}

function prepare(
  turn: Turn,
  { prompt, prefillIds, cacheSalt }: EncodedTurn & Pick<TurnState, "cacheSalt">,
  deps: RunDeps,
  output: TurnOutput,
  signal: AbortSignal,
): TurnState {
  const { engine, steering, contextLength } = deps;
  const tokenizer = o200kHarmony();
  const renderer = rendererFor(deps.layout);
  const length = sentLength(prompt, engine.capabilities) + prefillIds.length;
  if (contextLength !== undefined && length >= contextLength) throw tooLong(contextLength, length);
  const reading = toMarkerReading(engine, steering);
  const parsing = toParsingOptions(turn);
  if (turn.topLogprobs !== undefined && !engine.capabilities.logprobs) {
    throw new TurnError(
      "unsupported",
      "logprobs: the engine of this model does not support log probabilities. Send the request without logprobs.",
    );
  }
  const builtins = turn.builtins && createBuiltinRuns(turn, turn.builtins, signal);
  const parser = createTurnParser(tokenizer, { ...parsing, ...reading });
  const onWrappedCode = () => countRepair(state, "wrapped-code");
  const { onFact, layout } = deps;
  if (onFact) {
    const { name, capabilities } = engine;
    const shaping = { layout, steering, contextLength, parsing, capabilities };
    onFact({ type: "rendered", turn, prompt, engine: name, ...shaping });
    onFact({ type: "read-as", markers: reading.markers });
  }
  const prefixes = createMessagePrefixes(renderer, tokenizer, deps.layout);
  const transcript = createTranscript(prompt, tokenizer);
  const steps = createStepCutter({ prompt, transcript, tokenizer, parsing, prefixes });
  const state: TurnState = {
    turn: turn.affinity === undefined ? { ...turn, affinity: toAffinity(turn) } : turn,
    engine,
    steering,
    contextLength,
    signal,
    output,
    disableFastPath: deps.disableFastPath ?? false,
    tokenizer,
    renderer,
    prefixes,
    transcript,
    exactness: noteExactness(turn.messages, prompt),
    prefillIds,
    cacheSalt,
    parser,
    emitter: new PartEmitter({
      stop: turn.stop,
      textSeparator: turn.textSeparator,
      newCallId: deps.newCallId,
      foldPreambles: turn.answer.type !== "text",
      omits: toOmittedParts(turn),
      refuses: refusedCalls(turn, steering),
      cutStep: (name, text) => steps.cut(name, text),
      checks: (name) => findCheckedTool(turn, name) !== undefined,
      ...(turn.builtins && {
        builtins: toEmitted(turn, turn.builtins, { runs: builtins, onWrappedCode, onFact }),
      }),
    }),
    usage: createUsageCounter(),
    builtins,
    pause: deps.pause,
    onFact,
    repetition: steering.repetitionGuard
      ? createRepetitionGuard(engine.capabilities.idsOut)
      : undefined,
    singleCallConstraint: toSingleCallConstraint(turn, engine, steering),
    stage: "free",
    callsBefore: 0,
    approvedRun: 0,
    started: false,
    nativeReason: null,
    repairs: NO_REPAIRS,
  };
  return state;
}

const NO_REPAIRS: TurnState["repairs"] = new Map();

function toParsingOptions(turn: Turn): ParsingOptions {
  return {
    toolNames: toFunctionNames(turn),
    textTools: turn.tools.flatMap(({ name, text }) => (text === undefined ? [] : [name])),
    builtins: toBuiltinNames(turn.builtins),
  };
}

function toFunctionNames({ tools, builtins }: Turn): string[] {
  const own = tools.map(({ name }) => name);
  if (builtins === undefined) return own;
  return own.concat(
    builtins.tools.flatMap(({ functions = [] }) => functions.map(({ name }) => name)),
  );
}

function toBuiltinNames(builtins: TurnBuiltins | undefined): BuiltinName[] {
  return (builtins?.tools ?? []).flatMap(({ namespace, rawBody }) =>
    namespace === undefined
      ? []
      : { name: namespace.name, functions: namespace.functions.map(({ name }) => name), rawBody },
  );
}

interface EmittedDeps {
  readonly runs: BuiltinRuns | undefined;
  /** Code came as a JSON argument. */
  readonly onWrappedCode: () => void;
  readonly onFact: OnFact | undefined;
}

/** How calls to these tools and citations of what they found are given out. */
function toEmitted(
  { answer }: Turn,
  { tools, citations }: TurnBuiltins,
  { runs, onWrappedCode, onFact }: EmittedDeps,
): EmittedBuiltins {
  const recipients = new Map(
    tools.flatMap(({ functions = [] }) => functions.map((each) => [each.name, each.recipient])),
  );
  return {
    recipientOf: (name) => recipients.get(name),
    describe: (recipient) => {
      const tool = runs?.find(recipient);
      const origin = tool?.origin?.(recipient);
      const awaitsApproval = tool?.needsApproval?.(recipient) ?? false;
      return { awaitsApproval, ...(origin && { origin }) };
    },
    onWrappedCode,
    citations: answer.type === "text" ? citations : "cut",
    cite: (cursor, lines) => {
      const source = runs?.cite(cursor, lines);
      if (source !== undefined) onFact?.({ type: "cited", cursor, lines, source });
      return source;
    },
  };
}

function toEnd(state: TurnState, conclusion: Conclusion): TurnEnd {
  const { parser, emitter } = state;
  return {
    type: "end",
    finish: toFinishReason(conclusion, emitter.count("tool-call")),
    nativeReason: state.nativeReason,
    usage: toUsage(state),
    recoveries: new Map([...parser.recoveries, ...state.repairs]),
    ...(emitter.stopSequence !== undefined && { stopSequence: emitter.stopSequence }),
    ...(conclusion.type === "fail" && { failure: conclusion.failure }),
    ...(state.builtins && { toolStates: state.builtins.save() }),
  };
}

function toUsage({ usage, parser, emitter, builtins }: TurnState): TurnUsage {
  const counted = usage.toUsage(parser.reasoningTokens);
  if (builtins === undefined) return counted;
  const { executed, searches, opens } = builtins;
  const outputTokens = usage.toolOutputTokens();
  const requested = emitter.count("builtin-call");
  return { ...counted, builtins: { requested, executed, searches, opens, outputTokens } };
}

/** Parts the request has no place for, in case the model writes them anyway. */
function toOmittedParts({ toolChoice, reasoning }: Turn): Part["kind"][] {
  const omitted: Part["kind"][] = [];
  if (toolChoice.type === "required") omitted.push("content");
  if (!reasoning.enabled) omitted.push("reasoning");
  return omitted;
}

function refusedCalls(turn: Turn, steering: Steering): (name: string) => boolean {
  const { toolChoice, builtins } = turn;
  if (toolChoice.type === "allowed" || toolChoice.type === "required") {
    return (name) => !toolChoice.names.includes(name);
  }
  if (builtins === undefined && !steering.refuseUnofferedTools) return refuseNone;
  const offered = new Set(turn.tools.map((tool) => tool.name));
  if (steering.refuseUnofferedTools) return (name) => !offered.has(name);
  // A client that has left its tools to the gateway cannot run one that the model was trained with.
  return (name) => !offered.has(name) && (offered.size === 0 || isBuiltInTool(name));
}

const refuseNone = (): boolean => false;

function toFinishReason(conclusion: Conclusion, calls: number): FinishReason {
  if (conclusion.type === "fail") return "error";
  if (conclusion.reason === "length") return "length";
  return calls > 0 ? "tool-calls" : "stop";
}
