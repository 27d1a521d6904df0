/** The state of a turn before its first engine call. */
import type { Engine } from "../engines/engine.ts";
import { MessagePrefixes } from "../harmony/message-prefixes.ts";
import type { Layout } from "../harmony/message-layout.ts";
import type { RenderedPrompt } from "../harmony/prompt.ts";
import type { Pause } from "../streams/slices.ts";
import { o200kHarmony, type TokenId } from "../tokenizer/index.ts";
import { GatewayToolRuns } from "./gateway-calls/gateway-runs.ts";
import type { OnFact } from "./facts.ts";
import type { EmittedGatewayTools } from "./output/open-call.ts";
import { PartEmitter } from "./output/part-emitter.ts";
import type { TurnOutput } from "./output/turn-output.ts";
import { toAffinity } from "./prompt/affinity.ts";
import type { CacheSalts } from "./prompt/cache-salt.ts";
import { rendererFor, tooLong } from "./prompt/prompt.ts";
import { Transcript, sentLength } from "./prompt/transcript.ts";
import { RepetitionGuard } from "./reading/repetition.ts";
import { toMarkerReading } from "./reading/shown-markers.ts";
import { TurnParser } from "./reading/turn-parser.ts";
import { UsageCounter } from "./reading/usage-counter.ts";
import { StepCutter } from "./sampled/step-cutter.ts";
import type { Steering } from "./steering/settings.ts";
import { toSingleCallConstraint } from "./steering/single-call-constraint.ts";
import { TurnError } from "./turn-error.ts";
import { countRepair, type TurnState } from "./turn-state.ts";
import { TurnTools } from "./turn-tools.ts";
import type { Part, Turn, TurnGatewayTools } from "./turn.ts";

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
  /** Absent: there is no listener. */
  readonly onFact?: OnFact | undefined;
}

/** The encoded input that the engine continues. */
export interface EncodedTurn {
  readonly prompt: RenderedPrompt;
  readonly prefillIds: readonly TokenId[];
}

/** Creates the state. Throws a `TurnError` for a turn that the engine cannot run. */
export function createTurnState(
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
  const tools = new TurnTools(turn);
  const parsing = tools.toParsingOptions();
  if (turn.topLogprobs !== undefined && !engine.capabilities.logprobs) throw withoutLogprobs();
  const gatewayTools = turn.gatewayTools && new GatewayToolRuns(turn, turn.gatewayTools, signal);
  const parser = new TurnParser(tokenizer, { ...parsing, ...reading });
  const onWrappedCode = () => countRepair(state, "wrapped-code");
  const { onFact, layout } = deps;
  if (onFact) {
    const { name, capabilities } = engine;
    const shaping = { layout, steering, contextLength, parsing, capabilities };
    onFact({ type: "rendered", turn, prompt, engine: name, ...shaping });
    onFact({ type: "read-as", markers: reading.markers });
  }
  const prefixes = new MessagePrefixes(renderer, tokenizer, deps.layout);
  const { countRepairs } = parser;
  const transcript = new Transcript(prompt, tokenizer, countRepairs);
  const steps = new StepCutter({ prompt, transcript, tokenizer, prefixes, countRepairs });
  const state: TurnState = {
    turn: { ...turn, affinity: turn.affinity ?? toAffinity(turn.tenant, turn.prompt.messages) },
    tools,
    engine,
    steering,
    contextLength,
    signal,
    output,
    tokenizer,
    renderer,
    prefixes,
    transcript,
    prefillIds,
    cacheSalt,
    parser,
    emitter: new PartEmitter({
      stop: turn.stop,
      textSeparator: turn.textSeparator,
      newCallId: deps.newCallId,
      foldPreambles: turn.answer.type !== "text",
      omits: toOmittedParts(turn),
      refuses: tools.toRefused(steering.refuseUnofferedTools),
      cutStep: () => steps.cut(),
      checks: (name) => tools.findChecked(name) !== undefined,
      findMapped: (name) => tools.findMapped(name),
      ...(turn.gatewayTools && {
        gatewayTools: toEmitted(turn, turn.gatewayTools, {
          runs: gatewayTools,
          onWrappedCode,
          onFact,
        }),
      }),
    }),
    usage: new UsageCounter(tokenizer),
    gatewayTools,
    pause: deps.pause,
    onFact,
    repetition: steering.repetitionGuard
      ? new RepetitionGuard(engine.capabilities.idsOut)
      : undefined,
    singleCallConstraint: toSingleCallConstraint(turn, tools, engine, steering),
    stage: "free",
    callsBefore: 0,
    approvedRun: 0,
    started: false,
    nativeReason: null,
    invalidCalls: [],
    repairs: new Map(),
  };
  return state;
}

function withoutLogprobs(): TurnError {
  return new TurnError(
    "unsupported",
    "logprobs: the engine of this model does not support log probabilities. Send the request without logprobs.",
  );
}

interface EmittedDeps {
  readonly runs: GatewayToolRuns | undefined;
  /** Called when code came as a JSON argument. */
  readonly onWrappedCode: () => void;
  readonly onFact: OnFact | undefined;
}

/** The form in which calls of these tools and citations of their results are emitted. */
function toEmitted(
  { answer }: Turn,
  { tools, citations }: TurnGatewayTools,
  { runs, onWrappedCode, onFact }: EmittedDeps,
): EmittedGatewayTools {
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

/** Kinds of parts that the request does not allow, in case the model writes them anyway. */
function toOmittedParts({ toolChoice, reasoning }: Turn): Part["kind"][] {
  const omitted: Part["kind"][] = [];
  if (toolChoice.type === "required") omitted.push("content");
  if (!reasoning.enabled) omitted.push("reasoning");
  return omitted;
}
