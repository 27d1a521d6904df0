/**
 * Makes the turn of a request. The codec of its API has read the request's fields, in the order in which the API
 * refuses them; all further steps are common to all APIs.
 */
import type { Message, ToolNamespace } from "../../harmony/conversation.ts";
import {
  developerMessage,
  finalMessage,
  type SystemOptions,
  systemMessage,
} from "../../harmony/messages.ts";
import { createNameShield, type NameShield, NO_SHIELD } from "../../harmony/name-shield.ts";
import { type NamespaceStyle, toShownTools } from "../../harmony/tool-names.ts";
import type { SampledSteps } from "../../store/reasoning-store.ts";
import { settlePrefill } from "../../turn/prefill.ts";
import type { Preset, PromptRules } from "../../turn/preset.ts";
import { TurnPrompt } from "../../turn/prompt/prompt.ts";
import type { ApprovedCall, ToolChoice, Turn } from "../../turn/turn.ts";
import { joinTexts } from "../request/apply-preset.ts";
import type { DeferredFunctions } from "../../tools/tool-search/deferred-functions.ts";
import { type OfferedFunction, toOfferedTools } from "../request/offered-functions.ts";
import { type CollectedHistory, withHead } from "./prompt-history.ts";
import type { ReasoningOptions } from "../request/reasoning-options.ts";
import { type RequestedSampling, toSampling } from "../request/sampling.ts";
import type { ClientTrainedTools } from "../tools/client-trained-tools.ts";
import {
  type GatewayToolsRequest,
  type HostedDeps,
  type HostedTools,
  toTimeNote,
  toTurnGatewayTools,
} from "../tools/hosted-tools.ts";
import { type ToolSearchRequest, withToolSearch } from "../tools/tool-search.ts";
import type { TrainedHistory } from "../trained/trained-history.ts";
import { toTrainedTools, type TrainedTools, unwrittenCalls } from "../trained/trained-tools.ts";
import { type RequestedFormat, toAnswerFormat, toShownFormat } from "./requested-format.ts";

/** The values outside a request that shape its turn. */
export interface TurnContext {
  readonly turnId: string;
  readonly tenant: string;
  readonly system: Omit<SystemOptions, "effort">;
  /** Milliseconds since 1970. */
  readonly now?: number;
  /** The preset, whose values are in the request already. */
  readonly preset?: Preset | undefined;
  /** Absent: tools are shown unchanged. */
  readonly rules?: PromptRules;
  /** Absent: the gateway runs no tools. */
  readonly hosted?: HostedDeps;
  /** The rendering of tools with a namespace. Absent: as the model's own namespaces. */
  readonly style?: NamespaceStyle;
  /** The sampled steps of the running loop, by the id of their call. Absent: unknown. */
  readonly sampled?: SampledSteps | undefined;
}

/** A request's demands on the prompt, except its history. */
export interface RequestedPrompt {
  readonly reasoning: ReasoningOptions;
  /** The client's functions, before `tool_choice` has excluded any. */
  readonly functions: readonly OfferedFunction[];
  /** Functions that items of the history add. */
  readonly later?: readonly OfferedFunction[];
  /** Functions that the prompt defines once a search has found them, or the model has called them. */
  readonly deferred?: readonly OfferedFunction[];
  /** The search that the gateway runs. Absent: it runs none. */
  readonly search?: ToolSearchRequest | undefined;
  readonly toolChoice: ToolChoice;
  readonly hosted: HostedTools;
  readonly clientTrainedTools: ClientTrainedTools;
  readonly format: RequestedFormat;
  /** Instructions between the preset's and the history's. */
  readonly instructions?: readonly (string | null | undefined)[];
}

/** A request's demands on the turn, except its history. */
export interface RequestedTurn
  extends Pick<Turn, "stop" | "textSeparator">, Pick<GatewayToolsRequest, "maxCalls" | "forced"> {
  readonly prompt: RequestedPrompt;
  readonly parallelToolCalls: boolean;
  readonly sampling: RequestedSampling;
  readonly maxOutputTokens: number | null | undefined;
  readonly topLogprobs?: number | undefined;
  readonly affinity: string | null | undefined;
}

/** The rules by which the items of a history are written as messages. */
export interface HistoryRules extends Pick<TurnContext, "sampled"> {
  readonly style: NamespaceStyle;
  /** Trained tools that the client runs: calls and results are written in the form of training. */
  readonly trained: readonly ToolNamespace[];
  /** Conversion of calls whose tools the model knows as trained tools. */
  readonly mapped: TrainedHistory | undefined;
  readonly shield: NameShield;
  readonly deferred?: DeferredFunctions | undefined;
}

export interface TurnHistory {
  readonly history: CollectedHistory;
  /** System and developer texts before anything else. */
  readonly leading?: readonly string[];
  /** Functions that are added before anything else. */
  readonly tools?: readonly OfferedFunction[];
  /** The assistant's text at the end, which is the beginning of the answer. */
  readonly prefill?: string | undefined;
  /** The saved state of the gateway's tools, by tool name. */
  readonly toolStates?: ReadonlyMap<string, string> | undefined;
  /** Calls that the client has approved. */
  readonly approved?: readonly ApprovedCall[];
}

type WriteHistory = (rules: HistoryRules) => TurnHistory;

/**
 * Computes all but the history once, for several histories to be tried. Each step takes a few dozen milliseconds for a request of
 * megabytes, and almost none for others.
 */
export function* assembleTurn(
  requested: RequestedTurn,
  context: TurnContext,
): Generator<void, (write: WriteHistory) => Turn> {
  const { prompt, maxCalls, forced, sampling, maxOutputTokens, topLogprobs, affinity } = requested;
  const { reasoning, format, later = [], deferred = [] } = prompt;
  const { style = "own" } = context;
  const shown = toShown(prompt, context);
  const { trained, shield, hosted, toolChoice } = shown;
  const further = toolChoice.type === "none" ? [] : [...later, ...deferred];
  const offered = [...trained.functions, ...further];
  const functions = yield* toOfferedTools(offered, toolChoice, { style, shield });
  const ofTraining = [...trained.tools, ...prompt.clientTrainedTools.tools];
  if (format.type === "json-schema") yield;
  const answer = toAnswerFormat(format);
  return (write) => {
    const { messages, prefill, toolStates, approved } = toMessages(prompt, shown, context, write);
    const { hosted: deps } = context;
    const asked = {
      maxCalls,
      forced: shown.forced ?? forced,
      saved: toolStates,
      approved,
      deferred: shown.deferred && { functions: shown.deferred, defined: messages.defined },
    };
    const gatewayTools = deps && toTurnGatewayTools(hosted, asked, deps);
    return settlePrefill({
      id: context.turnId,
      tenant: context.tenant,
      prompt: new TurnPrompt(messages.messages),
      tools: [...functions, ...ofTraining],
      ...(gatewayTools && { gatewayTools }),
      toolChoice,
      // The model calls one trained tool, and then waits for its result.
      parallelToolCalls: ofTraining.length === 0 && requested.parallelToolCalls,
      answer,
      reasoning: {
        enabled: reasoning.enabled,
        ...(reasoning.maxTokens !== undefined && { maxTokens: reasoning.maxTokens }),
      },
      stop: requested.stop,
      ...(requested.textSeparator !== undefined && { textSeparator: requested.textSeparator }),
      sampling: toSampling(sampling),
      ...(maxOutputTokens != null && { maxOutputTokens }),
      ...(topLogprobs !== undefined && { topLogprobs }),
      ...(prefill !== undefined && { prefill }),
      ...(affinity != null && { affinity }),
      ...(context.preset && { preset: context.preset }),
      ...unwrittenCalls(trained),
    });
  };
}

/** Assembles the conversation alone: an answer at its end is an ordinary message and is not continued. */
export function assembleConversation(
  prompt: RequestedPrompt,
  context: Omit<TurnContext, "turnId">,
  write: WriteHistory,
): CollectedHistory {
  const { messages, prefill } = toMessages(prompt, toShown(prompt, context), context, write);
  if (prefill === undefined) return messages;
  return {
    ...messages,
    messages: [...messages.messages, finalMessage(prefill)],
  };
}

/** The tools of a request in the form shown to the model. */
interface ShownTools extends ReturnType<typeof withToolSearch> {
  readonly trained: TrainedTools;
  readonly shield: NameShield;
}

function toShown(
  { functions, later = [], deferred = [], search, hosted, toolChoice }: RequestedPrompt,
  { rules, style = "own" }: Omit<TurnContext, "turnId">,
): ShownTools {
  // Tools that are added later do not change the tools that are shown at the beginning.
  const trained = toTrainedTools(rules?.trainedTools, functions, toolChoice);
  const shield =
    rules?.nameShield === "on"
      ? createNameShield([...trained.unmapped, ...later, ...deferred], style)
      : NO_SHIELD;
  const searching = { functions, deferred, search, hosted, toolChoice: trained.toolChoice };
  return { trained, shield, ...withToolSearch(searching, { style, shield }) };
}

function toMessages(
  { reasoning, clientTrainedTools, format, instructions = [] }: RequestedPrompt,
  { trained, shield, hosted, deferred, toolChoice }: ShownTools,
  { system, preset, style = "own", sampled, now }: Omit<TurnContext, "turnId">,
  write: WriteHistory,
): Omit<TurnHistory, "history"> & { readonly messages: CollectedHistory } {
  const { namespaces } = clientTrainedTools;
  const { history, ...others } = write({
    trained: namespaces,
    mapped: trained.history,
    shield,
    style,
    sampled,
    deferred,
  });
  const { leading = [], tools = [] } = others;
  const developer = developerMessage({
    instructions: joinTexts([preset?.instructions, ...instructions, ...leading]),
    ...toShownTools(
      [
        ...trained.functions.map((each) => shield.shown(each)),
        ...hosted.functions,
        ...tools.map((each) => shield.shown(each)),
      ],
      style,
    ),
    ...toShownFormat(format),
  });
  const head: readonly Message[] = [
    systemMessage({
      ...system,
      effort: reasoning.effort,
      namespaces: [...hosted.namespaces, ...namespaces, ...trained.namespaces],
    }),
    ...(developer === undefined ? [] : [developer]),
  ];
  const messages = withNamed(withHead(head, history), toolChoice, deferred);
  const { timeZone } = hosted;
  if (timeZone === undefined || now === undefined) return { ...others, messages };
  // The time is at the end, because it differs in the next request.
  const note = developerMessage({ instructions: toTimeNote(timeZone, now) });
  return { ...others, messages: note ? withEnd(messages, note) : messages };
}

function withEnd(collected: CollectedHistory, message: Message): CollectedHistory {
  const { messages, callIds } = collected;
  return { ...collected, messages: [...messages, message], callIds: [...callIds, undefined] };
}

/** A deferred function that the model must call is defined at the end. */
function withNamed(
  collected: CollectedHistory,
  toolChoice: ToolChoice,
  deferred: DeferredFunctions | undefined,
): CollectedHistory {
  const isNamed = toolChoice.type === "required" && toolChoice.names.length === 1;
  const recipient = isNamed ? deferred?.recipientOf(toolChoice.names[0] ?? "") : undefined;
  const defined = new Set(collected.defined);
  const message = recipient === undefined ? undefined : deferred?.define([recipient], defined);
  return message === undefined ? collected : { ...withEnd(collected, message), defined };
}
