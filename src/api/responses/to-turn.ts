/** Converts a valid request and its history to a Turn: items to Harmony messages, fields to constraints. */
import type { ResponseFormat } from "../../harmony/conversation.ts";
import { developerMessage, type SystemOptions, systemMessage } from "../../harmony/messages.ts";
import { type NamespaceStyle, toShownTools } from "../../harmony/tool-names.ts";
import { createNameShield, type NameShield, NO_SHIELD } from "../../harmony/name-shield.ts";
import type { NamedEffort } from "../../models/model-name.ts";
import type { Preset } from "../../turn/preset.ts";
import type { ToolChoice, Turn } from "../../turn/turn.ts";
import {
  type OfferedFunction,
  refuseDuplicates,
  toOfferedTools,
  toToolChoice,
  turnName,
} from "../request/offered-functions.ts";
import {
  firstRecipients,
  type HostedDeps,
  hostedKindOf,
  type HostedTools,
  NO_HOSTED_TOOLS,
  requiredRecipients,
  toTurnBuiltins,
  withServers,
  withTools,
} from "../tools/hosted-tools.ts";
import { type ClientBuiltins, toClientBuiltins } from "../tools/client-builtins.ts";
import { allowedMcp, forcedMcp } from "../tools/hosted-choice.ts";
import { NO_SERVERS, type OpenedServers } from "../tools/mcp-servers.ts";
import { toTrainedTools, type TrainedTools, unwrittenCalls } from "../trained/trained-tools.ts";
import type { SampledSteps } from "../../store/reasoning-store.ts";
import { readOrdered, type RequestText } from "../request/ordered-json.ts";
import { type CollectedHistory, withHead } from "../request/prompt-history.ts";
import { type ReasoningOptions, toReasoningOptions } from "../request/reasoning-options.ts";
import { joinTexts } from "../request/apply-preset.ts";
import { toSampling } from "../request/sampling.ts";
import { runAtOnce } from "../../streams/slices.ts";
import { toAnswerFormat, toResponseFormat } from "./answer-format.ts";
import { sinceCompaction } from "./compaction.ts";
import type { HistoryItem } from "./history-item.ts";
import { approvedCalls } from "./mcp-items.ts";
import type { PromptRequest, ResponsesRequest } from "./request.ts";
import { type LaterTools, toHistory } from "./to-messages.ts";
import { requestedChoice } from "./tool-choice.ts";
import {
  type CallTargets,
  readTools,
  type RequestTools,
  toClientTargets,
  type ToolList,
} from "./tools.ts";
import type { Unsupported } from "./unsupported.ts";

/** Inputs of a prompt that are not in the request's fields. */
export interface PromptContext extends RequestText {
  readonly system: Omit<SystemOptions, "effort">;
  /** The effort in the model's name. */
  readonly namedEffort?: NamedEffort | undefined;
  /** Its values are in the request already. */
  readonly preset?: Preset | undefined;
  readonly unsupported: Unsupported;
  readonly tools: ToolSettings;
  /** Tools that the gateway runs. */
  readonly hosted: HostedDeps;
  /** The setting `nameShield`. */
  readonly shieldsNames?: boolean;
  /** By the id of its call: the steps of the running loop, as they were sampled. */
  readonly sampled?: SampledSteps;
  /** Absent: `off`. */
  readonly trainedTools?: Preset["trainedTools"];
}

/** Settings for tools. */
export interface ToolSettings {
  readonly style: NamespaceStyle;
  /** Maximum tools of a request, including those of namespaces. */
  readonly max: number;
}

/** The result of reading a request without its history. */
export interface TurnMaker {
  readonly turnOf: (history: readonly HistoryItem[]) => Turn;
  /** The wire format of each tool's calls. */
  readonly targets: CallTargets;
  /** Tools that were left out. */
  readonly skipped: readonly string[];
}

export interface TurnContext extends PromptContext {
  /** The complete history. Part of it may be left out of the prompt, but the tools it adds are offered. */
  readonly history: readonly HistoryItem[];
  readonly turnId: string;
  /** The state that the gateway's tools have saved in the response this one continues. */
  readonly toolStates?: ReadonlyMap<string, string>;
  /** MCP servers of the request. Absent: none. */
  readonly servers?: OpenedServers;
}

/**
 * Reads everything but the history, so that it is computed once for all histories that are tried. Each step takes a few
 * dozen milliseconds for a request of megabytes, and almost none for others.
 */
export function* turnMaker(
  request: ResponsesRequest,
  context: TurnContext,
): Generator<void, TurnMaker> {
  const frame = yield* readFrame(request, context);
  const { offered, toolChoice, format, targets, skipped } = frame;
  const tools = yield* toOfferedTools(offered, toolChoice, {
    style: context.tools.style,
    shield: frame.shield,
  });
  const trained = [...frame.trained.tools, ...frame.clientBuiltins.tools];
  if (format !== undefined) yield;
  const answer = toAnswerFormat(request, format);
  const builtins = toTurnBuiltins(
    frame.hosted,
    {
      maxCalls: request.max_tool_calls,
      forced: frame.forced,
      saved: context.toolStates,
      approved: approvedCalls(context.history, frame.hosted.tools),
    },
    context.hosted,
  );
  const turnOf = (history: readonly HistoryItem[]): Turn => ({
    id: context.turnId,
    tenant: context.tenant,
    messages: withHistory(history, frame, request, context).messages,
    tools: [...tools, ...trained],
    ...(builtins && { builtins }),
    toolChoice,
    // The model makes one call of a tool of training, and waits.
    parallelToolCalls: trained.length === 0 && (request.parallel_tool_calls ?? true),
    answer,
    reasoning: { enabled: frame.reasoning.enabled },
    stop: [],
    sampling: toSampling(request),
    ...(request.max_output_tokens != null && { maxOutputTokens: request.max_output_tokens }),
    ...(asksForLogprobs(request) && {
      topLogprobs: request.top_logprobs ?? 0,
    }),
    ...(request.prompt_cache_key != null && { affinity: request.prompt_cache_key }),
    ...(context.preset && { preset: context.preset }),
    ...unwrittenCalls(frame.trained),
  });
  return { turnOf, targets, skipped };
}

export function asksForLogprobs({ include }: Pick<ResponsesRequest, "include">): boolean {
  return include?.includes("message.output_text.logprobs") ?? false;
}

/** The conversation alone. */
export function toConversation(request: PromptRequest, context: TurnContext): CollectedHistory {
  const frame = runAtOnce(readFrame(request, context));
  return withHistory(context.history, frame, request, context);
}

/** The parts of a turn that do not depend on the history. */
interface Frame extends Pick<RequestTools, "targets" | "skipped" | "hosted"> {
  /** The recipients of which the first call must have one: tools of the gateway. */
  readonly forced: readonly string[] | undefined;
  /** Tools of training that the client runs. */
  readonly clientBuiltins: ClientBuiltins;
  readonly trained: TrainedTools;
  /** All tools that are shown as functions. */
  readonly offered: readonly OfferedFunction[];
  /** The tools that items of the history add, by item. */
  readonly later: LaterTools;
  /** Tools that are offered before the history. */
  readonly functions: readonly OfferedFunction[];
  readonly toolChoice: ToolChoice;
  readonly format: ResponseFormat | undefined;
  readonly reasoning: ReasoningOptions;
  readonly shield: NameShield;
}

function* readFrame(request: PromptRequest, context: TurnContext): Generator<void, Frame> {
  const reasoning = requestedReasoning(request, context.namedEffort);
  const lists = context.history.flatMap((item) => (item.type === "tools" ? [item] : []));
  const { targets, skipped, hosted: declared, ...tools } = yield* toTools(request, lists, context);
  const { offered } = tools;
  const { servers = NO_SERVERS } = context;
  const hosted = allowedHosted(withServers(declared, servers.tools), request);
  const forced = forcedHosted(request, hosted, offered.length, servers);
  refuseDuplicates([...offered, ...hosted.functions]);
  const requestedTools = toToolChoice(
    forced === undefined ? requestedChoice(request, context.unsupported, hosted) : { type: "auto" },
    offered.map((each) => turnName(each)),
  );
  const isNone = requestedTools.type === "none";
  const clientBuiltins = toClientBuiltins({
    names: request.builtin_tools,
    isNone,
    functions: offered.map((each) => turnName(each)),
    hosted,
  });
  const added = tools.later.flat();
  // Tools that are added later change nothing about those that are shown at the beginning.
  const first = offered.filter((each) => !added.includes(each));
  const trained = toTrainedTools(context.trainedTools, first, requestedTools);
  const { functions, toolChoice } = trained;
  const format = toResponseFormat(request, context);
  const { shieldsNames, tools: settings } = context;
  const shielded = [...trained.unmapped, ...added];
  return {
    offered: isNone ? [] : [...functions, ...added],
    functions,
    trained,
    later: new Map(isNone ? [] : lists.map((list, index) => [list, tools.later[index] ?? []])),
    toolChoice,
    format,
    reasoning,
    targets: new Map([...targets, ...toClientTargets(clientBuiltins)]),
    skipped,
    hosted,
    clientBuiltins,
    forced,
    shield: shieldsNames ? createNameShield(shielded, settings.style) : NO_SHIELD,
  };
}

/** The tools that `tool_choice` allows. */
function allowedHosted(hosted: HostedTools, { tool_choice: choice }: PromptRequest): HostedTools {
  if (choice === "none") return NO_HOSTED_TOOLS;
  if (typeof choice !== "object" || choice?.type !== "allowed_tools") return hosted;
  if (choice.mode === "none") return NO_HOSTED_TOOLS;
  const kinds = new Set(choice.tools.map(({ type }) => hostedKindOf(type)));
  const tools = hosted.tools.filter(({ name }) => [...kinds].some((kind) => kind === name));
  return withTools(hosted, [...tools, ...allowedMcp(choice.tools, hosted.tools)]);
}

/**
 * The recipients of a tool of the gateway that must be called: it is named, or a call is required and there is no other
 * tool.
 */
function forcedHosted(
  { tool_choice: choice }: PromptRequest,
  { tools }: HostedTools,
  functions: number,
  { listings }: OpenedServers,
): readonly string[] | undefined {
  if (typeof choice === "object" && choice?.type === "unsupported") {
    if (choice.kind === "mcp") return forcedMcp(choice.fields, tools, listings);
    const kind = hostedKindOf(choice.kind);
    const named = tools.find(({ name }) => name === kind);
    return named && firstRecipients(named);
  }
  const isAllowed = typeof choice === "object" && choice?.type === "allowed_tools";
  const isRequired = choice === "required" || (isAllowed && choice.mode === "required");
  const hasFunctions = isAllowed
    ? choice.tools.some(({ type }) => type === "function")
    : functions > 0;
  return isRequired && !hasFunctions ? requiredRecipients(tools) : undefined;
}

function withHistory(
  items: readonly HistoryItem[],
  { functions, later, format, reasoning, hosted, clientBuiltins, trained, shield }: Frame,
  request: PromptRequest,
  context: PromptContext,
): CollectedHistory {
  const { leading, tools, history } = toHistory(
    sinceCompaction(items),
    {
      unsupported: context.unsupported,
      style: context.tools.style,
      trained: clientBuiltins.namespaces,
      mapped: trained.history,
      sampled: context.sampled,
      shield,
    },
    later,
  );
  const developer = developerMessage({
    instructions: joinTexts([context.preset?.instructions, request.instructions, ...leading]),
    ...toShownTools(
      [...functions, ...hosted.functions, ...tools].map((each) => shield.shown(each)),
      context.tools.style,
    ),
    ...(format !== undefined && { responseFormat: format }),
  });
  const system = systemMessage({
    ...context.system,
    effort: reasoning.effort,
    namespaces: [...hosted.namespaces, ...clientBuiltins.namespaces, ...trained.namespaces],
  });
  return withHead([system, ...(developer === undefined ? [] : [developer])], history);
}

/** The effort to use, and whether the model reasons at all. */
export function requestedReasoning(
  request: PromptRequest,
  named: NamedEffort | undefined,
): ReasoningOptions {
  return toReasoningOptions({ effort: request.reasoning?.effort }, { named });
}

function* toTools(
  request: PromptRequest,
  later: readonly ToolList[],
  context: PromptContext,
): Generator<void, RequestTools> {
  const ordered = readOrdered(context.bodyText, "tools", request.tools, context.tenant);
  yield;
  return readTools(request.tools ?? [], {
    ordered,
    later,
    refuses: context.unsupported.kinds === "refuse",
    maxTools: context.tools.max,
    hosted: context.hosted,
    preset: context.preset,
    byClient: request.builtin_tools ?? [],
  });
}
