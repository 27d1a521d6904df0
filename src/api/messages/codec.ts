/** The codec of the Messages API: reads a request, prepares the turn and writes the reply. */
import type { Settings } from "../../config/settings.ts";
import { consume, createPushStream, type PushStream } from "../../streams/push-stream.ts";
import type { ResponseHeaders } from "../../telemetry/response-headers.ts";
import type { Preset } from "../../turn/preset.ts";
import type { Turn, TurnEvent } from "../../turn/turn.ts";
import type { Services } from "../api.ts";
import { describeTurnFailure, refusal, RequestError } from "../errors.ts";
import type { RequestMedia } from "../media/request-media.ts";
import type { GatewayTool } from "../../tools/gateway-tool.ts";
import { refuseDuplicates } from "../request/offered-functions.ts";
import { withServers } from "../tools/hosted-tools.ts";
import { openServersOrRefuse } from "../tools/mcp-servers.ts";
import { toMcpDeclarations } from "./server-tools.ts";
import type { AutoCompaction, CompactionPlan } from "../reply/auto-compaction.ts";
import { isAnswerEmpty } from "../reply/empty-answer.ts";
import { holding } from "../reply/held-reply.ts";
import { asSummary } from "../reply/summary-text.ts";
import { untilBegun } from "../reply/wait-for-first-event.ts";
import { presetMaxTokens, presetSampling } from "../request/apply-preset.ts";
import type { Client } from "../request/client.ts";
import { toMediaRules } from "../request/content-text.ts";
import { skippedPlugins, toPlausibleNames } from "../tools/skipped-tools.ts";
import type { ToolSearchRequest } from "../tools/tool-search.ts";
import { createPromptStore, diagnoseCache, type PromptStore } from "../turn/cache-diagnosis.ts";
import {
  type BegunTurn,
  effortHeader,
  type PreparedTurn,
  type ReadTurn,
  type RequestCodec,
  toTurnContext,
  type TurnCodec,
  turnHeaders,
} from "../turn/serve-turn.ts";
import { toCompaction, toCompactionPlan, toFittingEntries } from "./compaction.ts";
import { type AppliedEdits, refuseUnknownEdits, toEditedTurn } from "./context-management.ts";
import { toMessagesErrorReply } from "./errors.ts";
import { type FindModel, unknownModel } from "./models.ts";
import type { HistoryEntry } from "./history-entry.ts";
import type { ReplyEvent } from "./content-writer.ts";
import { readHistory, withMediaTexts } from "./history.ts";
import type { ReplyOptions } from "./reply.ts";
import {
  type CountRequest,
  countRequest,
  type MessagesRequest,
  messagesRequest,
} from "./request.ts";
import { restoreThinking } from "./restore-thinking.ts";
import { toSummaryEntries, toSummaryRequest } from "./summary.ts";
import { requestedReasoning, toShownThinking } from "./thinking.ts";
import { errorFrame, PING, toFrames } from "./to-events.ts";
import { collectMessage } from "./to-message.ts";
import { toTurnInSteps } from "./to-turn.ts";
import { toOfferedFunctions } from "./tools.ts";

/** A request for a message, or for a count of tokens. */
type AnyRequest = CountRequest & Partial<MessagesRequest>;

interface BegunMessage extends BegunTurn<AnyRequest> {
  readonly affinity: string | undefined;
}

/** A turn whose tokens can be counted. */
interface CountableTurn extends PreparedTurn {
  /** Edits of the prompt, as requested. */
  readonly applied: AppliedEdits | undefined;
  readonly clearedTokens: number;
  /** Plan of the compaction; `after` makes the turn that follows its summary. Undefined: no compaction is requested. */
  readonly compactionPlan: CompactionPlan | undefined;
  /** Tokens of the user's messages before an earlier summary. */
  readonly keptTokens: number;
  /** Undefined: the gateway runs no tool search. */
  readonly search: ToolSearchRequest | undefined;
  readonly headers: ResponseHeaders;
}

interface PreparedMessage extends CountableTurn {
  readonly request: AnyRequest;
  /** Undefined: the conversation is not compacted. */
  readonly compaction: AutoCompaction | undefined;
  readonly client: Client;
  readonly options: ReplyOptions;
}

export interface MessagesCodec extends TurnCodec<AnyRequest, BegunMessage, PreparedMessage> {
  /** Reads a request whose tokens are only counted. */
  readonly count: RequestCodec<AnyRequest>;
  readonly prepareCount: (read: BegunMessage, signal: AbortSignal) => Promise<CountableTurn>;
}

export function messagesCodec(shared: Services, findModel: FindModel): MessagesCodec {
  const { settings } = shared;
  const prompts = createPromptStore({ ...shared, ttlSeconds: settings.storeTtlSeconds });
  const services = { ...shared, prompts };
  const count: RequestCodec<AnyRequest> = {
    limits: { ...settings, messageLists: ["messages"], toolLists: ["tools"] },
    schema: countRequest,
    refuse: refuseUnserved,
    findModel,
    unknownModel,
    withPreset,
    reasoning: requestedReasoning,
  };
  return {
    ...count,
    schema: messagesRequest,
    toSummary: (request) => (request.compaction == null ? undefined : toSummaryRequest(request)),
    begin: (read, c) => begin(read, c.req.header("x-claude-code-session-id")),
    prepare: (read, signal) => prepareMessage(read, services, signal),
    headers: ({ headers }) => headers,
    async collect(prepared, held, { signal }) {
      const { options } = prepared;
      const events = toReply(holding(run(prepared, services, signal), held), options);
      const { end, toJson } = await collectMessage(events, options);
      if (end.failure) {
        const { body } = toMessagesErrorReply(describeTurnFailure(end.failure), options.requestId);
        return { failure: body };
      }
      // The message is written at once: it contains only text, which the context limits.
      return { body: toJson(), isEmpty: isAnswerEmpty(end) };
    },
    async open(prepared, opening) {
      const { options } = prepared;
      const begun = await untilBegun(run(prepared, services, opening.signal), opening);
      return { frames: toFrames(toReply(begun, options), options, opening), keepAlive: PING };
    },
    toFailure: (error, { requestId }) => errorFrame(error, { requestId }),
    keepAlive: PING,
    count,
    prepareCount: (read, signal) => prepareTurn(read, services, signal),
  };
}

/** The events of a reply: those of its turn, or the summary that the turn writes. */
function toReply(
  events: AsyncIterable<TurnEvent>,
  { isSummary }: ReplyOptions,
): AsyncIterable<ReplyEvent> {
  return isSummary ? asSummary(events, (text) => ({ type: "summary", text }) as const) : events;
}

interface MessagesServices extends Services {
  readonly prompts: PromptStore;
}

const MAX_SESSION_ID = 256;

/**
 * After the error, the SDK sends the whole conversation with every request. Ignoring the thread would
 * silently lose tools and history, because only new messages are sent.
 */
function refuseUnserved({ thread, safeguards }: AnyRequest): void {
  if (safeguards != null)
    throw refusal("safeguards", "are not run by this gateway; send the request without");
  if (thread == null) return;
  throw refusal(
    "thread",
    "conversations are not stored by this gateway; send the whole conversation without thread",
    { details: { error_code: "thread_unsupported_request", unsupported: [] } },
  );
}

function withPreset(request: AnyRequest, preset: Preset): AnyRequest {
  // Without a limit, tokens are counted only.
  const maxTokens = request.max_tokens && presetMaxTokens(request.max_tokens, preset);
  return {
    ...request,
    ...presetSampling(request, preset),
    ...(maxTokens && { max_tokens: maxTokens }),
    ...presetThinking(request, preset),
  };
}

/** Adds the preset's effort. A thinking budget in the request does not replace it: a budget is only a limit. */
function presetThinking(
  { thinking, output_config: config }: AnyRequest,
  { effort }: Preset,
): Partial<AnyRequest> {
  if (effort === undefined || config?.effort != null || thinking?.type === "disabled") return {};
  // This API has no effort `none`.
  if (effort === "none") return thinking == null ? { thinking: { type: "disabled" } } : {};
  return { output_config: { ...config, effort } };
}

function begin(read: ReadTurn<AnyRequest>, session: string | undefined): BegunMessage {
  const headers = { "request-id": read.requestId, ...effortHeader(read.reasoning) };
  return { ...read, affinity: session?.slice(0, MAX_SESSION_ID), headers };
}

async function prepareMessage(
  read: BegunMessage,
  services: MessagesServices,
  signal: AbortSignal,
): Promise<PreparedMessage> {
  const { sent, isSummary, client, requestId, requested } = read;
  const prepared = await prepareTurn(read, services, signal);
  const compaction = await toCompaction(sent, prepared, signal);
  const { settings, randomId, now, prompts } = services;
  const previous = sent.diagnostics?.previous_message_id;
  const compared = previous == null ? undefined : await prompts.find(client.tenant, previous);
  const prompt = { ...prepared, compaction };
  return {
    ...prepared,
    compaction,
    request: sent,
    client,
    options: {
      isSummary,
      id: `msg_${randomId()}`,
      model: requested.name,
      requestId,
      thinking: toShownThinking(sent, client.reasoningPolicy),
      contextManagement: prepared.applied,
      compaction,
      diagnose: compared && (() => diagnoseCache(compared, prompt)),
      toolSearch: prepared.search?.isPattern ? "tool_search_tool_regex" : "tool_search_tool_bm25",
      returnsProgress: sent.return_progress ?? false,
      containerExpiresAt: new Date(now() + settings.pythonIdleMs).toISOString(),
    },
  };
}

async function prepareTurn(
  read: BegunMessage,
  services: Services,
  signal: AbortSignal,
): Promise<CountableTurn> {
  const { sent, isSummary, body, stages, requested, media, requestId } = read;
  const { tenant } = read.client;
  const { model, name, preset, suffixes } = requested;
  const { settings } = services;
  const mediaRules = toMediaRules(settings.mediaInput, "placeholder");
  const request = await withMediaTexts(read.asked, { media, mediaRules }, signal);
  const history = readHistory(request.messages, { bodyText: body.text, mediaRules });
  const bodyText = body.outline;
  await stages.next();
  // Text blocks have their own citations, so links in the text would repeat them.
  const hosted = { ...services.hosted, citations: toCitationMode(settings.citations) };
  const { references, added, removed } = history;
  const offered = toOfferedFunctions(request, {
    bodyText,
    tenant,
    serverTools: settings.unsupportedTools,
    references,
    added,
    removed,
    maxTools: settings.maxTools,
    hosted,
    preset,
  });
  const servers = await openMessageServers(request, { ...services, tenant, media });
  const withOwn = { ...offered, hosted: withServers(offered.hosted, servers) };
  refuseDuplicates([...offered.functions, ...withOwn.hosted.functions]);
  const entries = isSummary ? toSummaryEntries(history.entries, request) : history.entries;
  const restored = await restoreThinking(entries, tenant, services);
  const { affinity } = read;
  const own = toTurnContext({ ...read, tenant, bodyText }, services);
  const context = { ...own, hosted, offered: withOwn, affinity };
  const turnOf = (edited: readonly HistoryEntry[], emptied: ReadonlySet<string> = new Set()) => {
    const sampled = new Map([...restored.sampled].filter(([id]) => !emptied.has(id)));
    return stages.run(toTurnInSteps(request, { ...context, sampled, history: edited }));
  };
  const fitting = { tenant, turnOf, model, signal, pause: services.pause };
  const fitted = await toFittingEntries(restored.entries, request, fitting);
  const edited = await toEditedTurn(fitted.items, request, { model, turnOf, signal });
  const { turn, applied, clearedTokens } = edited;
  refuseUnknownEdits(sent, name);
  const plugins = skippedPlugins(request.plugins, suffixes, turn);
  const skipped = toPlausibleNames([...offered.skipped, ...plugins, ...history.skipped]);
  if (skipped.length > 0) {
    services.log.info("tools or content skipped", { id: requestId, kinds: skipped });
  }
  return {
    model,
    turn,
    applied,
    clearedTokens,
    compactionPlan: toCompactionPlan(edited, request, fitting),
    keptTokens: fitted.tokens,
    search: offered.search,
    headers: {
      ...read.headers,
      ...turnHeaders(read, turn, restored.outcome),
      ...(skipped.length > 0 && { "x-harmony-skipped": skipped.join(", ") }),
    },
  };
}

/** The tools of the request's MCP servers. */
async function openMessageServers(
  request: AnyRequest,
  { hosted, settings, tenant, media }: ServerContext,
): Promise<readonly GatewayTool[]> {
  const declarations = toMcpDeclarations(request);
  if (declarations.length === 0 || request.tool_choice?.type === "none") return [];
  const toolbox = hosted.toolbox.mcp;
  if (toolbox === undefined) {
    throw refusal(
      "mcp_servers",
      "this gateway runs no MCP servers. Its operator can enable them with the settings mcpServers and mcpFromRequests",
    );
  }
  const style = settings.toolNamespaces;
  const options = { toolbox, tenant, style, media };
  return openServersOrRefuse(declarations, options).catch(inOwnWords);
}

/** Renames the field of an error to this API's name. */
function inOwnWords(error: unknown): never {
  if (!(error instanceof RequestError) || error.param === null) throw error;
  const param = error.param
    .replace(/server_label$/, "name")
    .replace(/server_url$/, "url")
    .replace(/(?:headers|authorization)$/, "authorization_token");
  throw refusal(param, error.message.replace(`${error.param}: `, ""));
}

interface ServerContext extends Pick<Services, "hosted" | "settings"> {
  readonly tenant: string;
  readonly media: RequestMedia;
}

function toCitationMode(setting: Settings["citations"]): Settings["citations"] {
  return setting === "raw" ? "raw" : "annotate";
}

/** The events of a compaction, if any, and of the turn. Thinking is stored for later requests. */
function run(
  prepared: PreparedMessage,
  { reasoning, prompts }: MessagesServices,
  signal: AbortSignal,
): AsyncIterable<TurnEvent> {
  const { request, client, model, turn, compaction, options } = prepared;
  const runTurn = (each: Turn) => {
    const events = model.run(each, signal);
    return reasoning.keep(request.max_tokens === 0 ? withoutParts(events) : events, {
      tenant: client.tenant,
      // Calls of the gateway are sent encrypted even if thinking is hidden from the client.
      seal: options.thinking !== "none" || each.gatewayTools !== undefined,
    });
  };
  const events = compaction === undefined ? runTurn(turn) : compaction.run(model, runTurn, signal);
  if (request.diagnostics == null) return events;
  return prompts.keep(events, { tenant: client.tenant, id: options.id, prompt: prepared });
}

/**
 * `max_tokens: 0` only loads the prompt into the engine's cache. The one token that engines sample is dropped: the
 * start and the end of the turn remain.
 */
function withoutParts(events: AsyncIterable<TurnEvent>): PushStream<TurnEvent> {
  return createPushStream((consumer) =>
    consume(events, (event) => {
      if (event.type === "start") return consumer(event);
      if (event.type !== "end") return true;
      return consumer(event.failure ? event : { ...event, finish: "length" });
    }),
  );
}
