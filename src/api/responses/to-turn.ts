/** Converts a valid request and its history to a Turn: items to Harmony messages, fields to constraints. */
import type { NamespaceStyle } from "../../harmony/tool-names.ts";
import type { NamedEffort } from "../../models/model-name.ts";
import { runAtOnce } from "../../streams/slices.ts";
import type { Turn } from "../../turn/turn.ts";
import { refuseDuplicates, toToolChoice, turnName } from "../request/offered-functions.ts";
import { readOrdered, type RequestText } from "../request/ordered-json.ts";
import type { CollectedHistory } from "../turn/prompt-history.ts";
import { type ReasoningOptions, toReasoningOptions } from "../request/reasoning-options.ts";
import { toClientTrainedTools } from "../tools/client-trained-tools.ts";
import { allowedMcp, forcedHosted, type HostedDemand } from "../tools/hosted-choice.ts";
import {
  type HostedDeps,
  hostedKindOf,
  type HostedTools,
  NO_HOSTED_TOOLS,
  withServers,
  withTools,
} from "../tools/hosted-tools.ts";
import { NO_SERVERS, type OpenedServers } from "../tools/mcp-servers.ts";
import {
  assembleConversation,
  assembleTurn,
  type RequestedTurn,
  type TurnContext,
} from "../turn/assemble-turn.ts";
import { toToolStates } from "../turn/history.ts";
import { readFormat, type RequestedFormat } from "../turn/requested-format.ts";
import { sinceCompaction } from "./compaction.ts";
import type { HistoryItem, Unsupported } from "./history-item.ts";
import { approvedCalls } from "./mcp-items.ts";
import type { PromptRequest, ResponsesRequest } from "./request.ts";
import { type LaterTools, toHistory } from "./to-messages.ts";
import { requestedChoice } from "./tool-choice.ts";
import { readTools, type RequestTools, toClientTargets, type ToolList } from "./tools.ts";

/** Inputs of a prompt that are not in the request's fields. */
export interface PromptContext extends Omit<TurnContext, "turnId">, RequestText {
  readonly style: NamespaceStyle;
  readonly hosted: HostedDeps;
  readonly unsupported: Unsupported;
  /** Maximum tools of a request, including those of namespaces. */
  readonly maxTools: number;
  /** The effort in the model's name. */
  readonly namedEffort?: NamedEffort | undefined;
}

export interface ResponsesTurnContext extends PromptContext {
  readonly turnId: string;
  /** The complete history. The prompt may omit part of it, but the tools that it adds are offered. */
  readonly history: readonly HistoryItem[];
  /** MCP servers of the request. Absent: none. */
  readonly servers?: OpenedServers;
}

/** The result of reading a request without its history. */
export interface TurnMaker extends Pick<RequestTools, "targets" | "skipped"> {
  readonly turnOf: (history: readonly HistoryItem[]) => Turn;
}

/**
 * Reads all of the request but the history, once for all histories that are tried. Each step takes a few dozen
 * milliseconds for a request of megabytes, and almost none for others.
 */
export function* turnMaker(
  request: ResponsesRequest,
  context: ResponsesTurnContext,
): Generator<void, TurnMaker> {
  const { requested, later, targets, skipped } = yield* toRequestedTurn(request, context);
  const turnOf = yield* assembleTurn(requested, context);
  const approved = approvedCalls(context.history, requested.prompt.hosted.tools);
  const toolStates = toToolStates(context.history.filter((item) => item.type === "kept-call"));
  return {
    turnOf: (history) =>
      turnOf((rules) => ({
        ...toHistory(sinceCompaction(history), { ...context, ...rules }, later),
        toolStates,
        approved,
      })),
    targets,
    skipped,
  };
}

/** Converts the request's conversation alone. */
export function toConversation(
  request: PromptRequest,
  context: ResponsesTurnContext,
): CollectedHistory {
  const { prompt, later } = runAtOnce(readPrompt(request, context));
  return assembleConversation(prompt, context, (rules) =>
    toHistory(sinceCompaction(context.history), { ...context, ...rules }, later),
  );
}

function* toRequestedTurn(request: ResponsesRequest, context: ResponsesTurnContext) {
  const { prompt, forced, ...others } = yield* readPrompt(request, context);
  const requested: RequestedTurn = {
    prompt,
    forced,
    maxCalls: request.max_tool_calls,
    parallelToolCalls: request.parallel_tool_calls ?? true,
    stop: [],
    sampling: request,
    maxOutputTokens: request.max_output_tokens,
    topLogprobs: asksForLogprobs(request) ? (request.top_logprobs ?? 0) : undefined,
    affinity: request.prompt_cache_key,
  };
  return { requested, ...others };
}

interface ReadPrompt
  extends Pick<RequestTools, "targets" | "skipped">, Pick<RequestedTurn, "prompt" | "forced"> {
  /** The tools that items of the history add, by item. */
  readonly later: LaterTools;
}

/** Applies the last effort and format that items of the history have set. */
export function withUpdates<R extends PromptRequest>(
  request: R,
  history: readonly HistoryItem[],
): R {
  const updates = history.filter((item) => item.type === "configuration");
  const effort = updates.findLast((each) => each.effort != null)?.effort;
  const format = updates.findLast((each) => each.format != null)?.format;
  const { enabled: _, max_tokens: __, ...reasoning } = request.reasoning ?? {};
  return {
    ...request,
    ...(effort != null && { reasoning: { ...reasoning, effort } }),
    ...(format && { text: { ...request.text, format } }),
  };
}

function* readPrompt(
  sent: PromptRequest,
  context: ResponsesTurnContext,
): Generator<void, ReadPrompt> {
  const request = withUpdates(sent, context.history);
  const { servers = NO_SERVERS } = context;
  const reasoning = requestedReasoning(request, context.namedEffort);
  const lists = context.history.flatMap((item) => (item.type === "tools" ? [item] : []));
  const tools = yield* toTools(request, lists, context);
  const hosted = allowedHosted(withServers(tools.hosted, servers.tools), request);
  // The search may also have found tools of servers, which the gateway runs.
  const run = new Set(
    hosted.tools.flatMap(({ functions = [] }) => functions.map(({ name }) => name)),
  );
  const found = tools.later.map((list) => list.filter((each) => !run.has(turnName(each))));
  const later = found.flat();
  const others = new Set(tools.later.flat()).difference(new Set(later));
  const offered = tools.offered.filter((each) => !others.has(each));
  const names = offered.map((each) => turnName(each));
  const demand = toDemand(request, offered.length);
  const forced = forcedHosted(demand, hosted.tools, servers.listings);
  refuseDuplicates([...offered, ...hosted.functions]);
  const toolChoice = toToolChoice(
    forced === undefined ? requestedChoice(request, context.unsupported, hosted) : { type: "auto" },
    names,
  );
  const isNone = toolChoice.type === "none";
  const clientTrainedTools = toClientTrainedTools({
    names: request.builtin_tools,
    isNone,
    functions: names,
    hosted,
  });
  const functions = offered.filter((each) => !later.includes(each) && !tools.deferred.has(each));
  const format = toFormat(request, context);
  const instructions = [request.instructions];
  return {
    prompt: {
      reasoning,
      functions,
      later,
      deferred: [...tools.deferred],
      search: tools.search,
      toolChoice,
      hosted,
      clientTrainedTools,
      format,
      instructions,
    },
    forced,
    later: new Map(isNone ? [] : lists.map((list, index) => [list, found[index] ?? []])),
    targets: new Map([...tools.targets, ...toClientTargets(clientTrainedTools)]),
    skipped: tools.skipped,
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

function toDemand({ tool_choice: choice }: PromptRequest, functions: number): HostedDemand {
  const sent = typeof choice === "object" && choice !== null ? choice : undefined;
  const allowed = sent?.type === "allowed_tools" ? sent : undefined;
  return {
    named: sent?.type === "hosted" ? sent : undefined,
    isRequired: allowed
      ? allowed.mode === "required" && !allowed.tools.some(({ type }) => type === "function")
      : choice === "required" && functions === 0,
  };
}

function toFormat(
  { text }: PromptRequest,
  { history, ...sent }: RequestText & Pick<ResponsesTurnContext, "history">,
): RequestedFormat {
  const format = text?.format;
  if (format?.type !== "json_schema") {
    return { type: format?.type === "json_object" ? "json-object" : "text" };
  }
  const isUpdate = history.some((item) => item.type === "configuration" && item.format === format);
  const value = isUpdate ? undefined : text;
  return readFormat(format, { member: "text", value, path: ["format", "schema"] }, sent);
}

export function asksForLogprobs({ include }: Pick<ResponsesRequest, "include">): boolean {
  return include?.includes("message.output_text.logprobs") ?? false;
}

/** The effective effort, and whether the model reasons at all. */
export function requestedReasoning(
  { reasoning }: PromptRequest,
  named: NamedEffort | undefined,
): ReasoningOptions {
  const { effort, enabled, max_tokens } = reasoning ?? {};
  return toReasoningOptions({ effort, enabled, max_tokens }, { named });
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
    maxTools: context.maxTools,
    hosted: context.hosted,
    preset: context.preset,
    byClient: request.builtin_tools ?? [],
  });
}
