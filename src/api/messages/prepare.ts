/** Reads a message's request, restores its thinking and makes its turn. */
import type { Context } from "hono";
import type { NamedEffort } from "../../models/model-name.ts";
import type { Model } from "../../models/models.ts";
import type { ResponseHeaders } from "../../telemetry/response-headers.ts";
import type { Turn } from "../../turn/turn.ts";
import { RequestError } from "../errors.ts";
import type { AutoCompaction, CompactionPlan } from "../reply/auto-compaction.ts";
import { mediaHeader } from "../media/media-counts.ts";
import type { RequestMedia } from "../media/request-media.ts";
import { type ReadBody, readBody } from "../request/body-memory.ts";
import type { ApiEnv, Client } from "../request/client.ts";
import { type Parser, readRequest } from "../request/parse-request.ts";
import { usedEffort } from "../request/reasoning-options.ts";
import { namedModel, type RequestedModel, requestedModel } from "../request/requested-model.ts";
import { createStages, type Stages } from "../request/stages.ts";
import { skippedPlugins, toPlausibleNames } from "../tools/skipped-tools.ts";
import { trainedHeader } from "../trained/trained-tools.ts";
import { type AppliedEdits, refuseUnknownEdits, toEditedTurn } from "./context-management.ts";
import { toCompaction, toCompactionPlan, toFittingEntries } from "./compaction.ts";
import type { MessagesDeps } from "./deps.ts";
import { unknownModel } from "./find-model.ts";
import type { HistoryEntry } from "./history-entry.ts";
import { toHistory } from "./history.ts";
import { withMediaTexts } from "./media.ts";
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
import { toTurnInSteps } from "./to-turn.ts";
import { withPreset } from "./with-preset.ts";
import { toOfferedFunctions } from "./tools.ts";

/** A turn that can be counted. */
export interface PreparedTurn {
  readonly model: Model;
  /** As the client named it. */
  readonly name: string;
  readonly turn: Turn;
  /** Edits of the prompt that the request asked for. */
  readonly applied: AppliedEdits | undefined;
  readonly clearedTokens: number;
  /** Undefined: the request asks for none. `after` makes the turn of a summary. */
  readonly compactionPlan: CompactionPlan | undefined;
  /** Tokens of the user's messages before an earlier summary. */
  readonly keptTokens: number;
  readonly headers: ResponseHeaders;
}

/** A request that is ready to run. */
export interface PreparedMessage extends PreparedTurn {
  readonly request: MessagesRequest;
  /** The turn writes a summary of the conversation. */
  readonly isSummary: boolean;
  /** Undefined: the conversation is not compacted. */
  readonly compaction: AutoCompaction | undefined;
  readonly client: Client;
  readonly options: ReplyOptions;
}

/** What is known of a request before anything is awaited for it. */
interface ReadTurn<R extends CountRequest> {
  readonly body: ReadBody;
  readonly stages: Stages;
  readonly request: R;
  /** The request with its preset, or as one for a summary. */
  readonly asked: CountRequest & Partial<MessagesRequest>;
  readonly isSummary: boolean;
  readonly namedEffort: NamedEffort | undefined;
  readonly client: Client;
  readonly requestId: string;
  readonly affinity: string | undefined;
  readonly found: RequestedModel;
  readonly media: RequestMedia;
  readonly headers: ResponseHeaders;
}

/** Rejects with a {@link RequestError}. */
export function readMessage(
  c: Context<ApiEnv>,
  deps: MessagesDeps,
): Promise<ReadTurn<MessagesRequest>> {
  return readTurn(c, messagesRequest, deps, ({ compaction }) => compaction != null);
}

/** Everything else before the engine call. Rejects with a {@link RequestError}. */
export async function prepareMessage(
  read: ReadTurn<MessagesRequest>,
  deps: MessagesDeps,
  signal: AbortSignal,
): Promise<PreparedMessage> {
  const { request, isSummary, client, requestId } = read;
  const prepared = await prepareTurn(read, deps, signal);
  const compaction = await toCompaction(request, prepared, signal);
  return {
    ...prepared,
    compaction,
    request,
    isSummary,
    client,
    options: {
      id: `msg_${deps.randomId()}`,
      model: prepared.name,
      requestId,
      thinking: toShownThinking(request, client.reasoningPolicy),
      contextManagement: prepared.applied,
      compaction,
      returnsProgress: request.return_progress ?? false,
      containerExpiresAt: new Date(deps.now() + deps.containerIdleMs).toISOString(),
    },
  };
}

/** The turn of a request whose tokens are only counted. Rejects with a {@link RequestError}. */
export async function prepareCount(c: Context<ApiEnv>, deps: MessagesDeps): Promise<PreparedTurn> {
  const read = await readTurn(c, countRequest, deps, () => false);
  return prepareTurn(read, deps, c.req.raw.signal);
}

async function readTurn<R extends CountRequest>(
  c: Context<ApiEnv>,
  schema: Parser<R>,
  deps: MessagesDeps,
  asksForSummary: (request: R) => boolean,
): Promise<ReadTurn<R>> {
  const body = await readBody(c, deps.limits.messageLists, deps.pause);
  const stages = createStages(body.length, deps.pause);
  const request = await readRequest(body.value, schema, deps.limits, stages);
  const client = c.get("client");
  const requestId = c.get("requestId");
  refuseThread(request);
  const { models, tenant } = client;
  const found = requestedModel(request, models, (name) => deps.findModel(models, name));
  if (found === undefined) throw unknownModel(namedModel(request), models);
  const isSummary = asksForSummary(request);
  const filled = withPreset(request, found.preset);
  const asked = isSummary ? toSummaryRequest(filled) : filled;
  const namedEffort = isSummary ? undefined : found.effort;
  const media = deps.openMedia(tenant);
  c.set("media", media.counts);
  return {
    body,
    stages,
    request,
    asked,
    isSummary,
    namedEffort,
    client,
    requestId,
    affinity: c.req.header("x-claude-code-session-id")?.slice(0, MAX_SESSION_ID),
    found,
    media,
    headers: {
      "request-id": requestId,
      "x-harmony-reasoning-effort": usedEffort(requestedReasoning(asked, namedEffort)),
    },
  };
}

async function prepareTurn(
  read: ReadTurn<CountRequest & Partial<MessagesRequest>>,
  deps: MessagesDeps,
  signal: AbortSignal,
): Promise<PreparedTurn> {
  const { request: sent, isSummary, namedEffort, body, stages, found, media, requestId } = read;
  const { tenant } = read.client;
  const { model, name, preset } = found;
  const request = await withMediaTexts(read.asked, { media, rules: deps.media }, signal);
  const history = toHistory(request.messages, { bodyText: body.text, media: deps.media });
  const { serverTools, hosted } = deps;
  const { references, added, removed } = history;
  const bodyText = body.outline;
  await stages.next();
  const offered = toOfferedFunctions(request, {
    bodyText,
    tenant,
    serverTools,
    references,
    added,
    removed,
    maxTools: deps.limits.maxTools,
    hosted,
    preset,
  });
  const entries = isSummary ? toSummaryEntries(history.entries, request) : history.entries;
  const restored = await restoreThinking(entries, tenant, deps);
  const context = {
    turnId: requestId,
    tenant,
    system: deps.system(deps.now()),
    bodyText,
    namedEffort,
    preset,
    offered,
    hosted,
    shieldsNames: deps.nameShield(tenant, preset) === "on",
    trainedTools: deps.trainedTools(tenant, preset),
    affinity: read.affinity,
  };
  const turnOf = (edited: readonly HistoryEntry[], emptied: ReadonlySet<string> = new Set()) => {
    const sampled = new Map([...restored.sampled].filter(([id]) => !emptied.has(id)));
    return stages.run(toTurnInSteps(request, { ...context, sampled, history: edited }));
  };
  const fitting = { tenant, turnOf, model, signal, pause: deps.pause };
  const fitted = await toFittingEntries(restored.entries, request, fitting);
  const edited = await toEditedTurn(fitted.items, request, { model, turnOf, signal });
  const { turn, applied, clearedTokens } = edited;
  refuseUnknownEdits(sent, name);
  const plugins = skippedPlugins(request.plugins, found.suffixes, turn);
  const skipped = toPlausibleNames([...offered.skipped, ...plugins, ...history.skipped]);
  if (skipped.length > 0) deps.onSkipped(requestId, skipped);
  return {
    model,
    name,
    turn,
    applied,
    clearedTokens,
    compactionPlan: toCompactionPlan(edited, request, fitting),
    keptTokens: fitted.tokens,
    headers: {
      ...read.headers,
      ...(restored.outcome && { "x-harmony-cot": restored.outcome }),
      ...(skipped.length > 0 && { "x-harmony-skipped": skipped.join(", ") }),
      ...mediaHeader(media.counts),
      ...trainedHeader(turn),
    },
  };
}

const MAX_SESSION_ID = 256;

/**
 * After the error, the SDK sends the whole conversation with every request. Ignoring the thread would
 * silently lose tools and history, because only new messages are sent.
 */
function refuseThread({ thread }: CountRequest): void {
  if (thread === undefined || thread === null) return;
  throw new RequestError(
    "thread: conversations are not stored by this gateway; send the whole conversation without thread",
    {
      param: "thread",
      details: { error_code: "thread_unsupported_request", unsupported: [] },
    },
  );
}
