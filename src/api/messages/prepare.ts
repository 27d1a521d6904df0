/** Prepares a message: reads the request, restores its thinking and makes its turn. */
import type { Context } from "hono";
import type { Model } from "../../models/models.ts";
import type { ResponseHeaders } from "../../telemetry/response-headers.ts";
import type { Turn } from "../../turn/turn.ts";
import { RequestError } from "../errors.ts";
import type { AutoCompaction, CompactionPlan } from "../reply/auto-compaction.ts";
import { mediaHeader } from "../media/media-counts.ts";
import { type ReadBody, readBody } from "../request/body-memory.ts";
import type { ApiEnv, Client } from "../request/client.ts";
import { type Parser, readRequest } from "../request/parse-request.ts";
import { usedEffort } from "../request/reasoning-options.ts";
import { namedModel, requestedModel } from "../request/requested-model.ts";
import { createStages, type Stages } from "../request/stages.ts";
import { skippedPlugins } from "../tools/skipped-tools.ts";
import { trainedHeader } from "../trained/trained-tools.ts";
import { type AppliedEdits, refuseUnknownEdits, toEditedTurn } from "./context-management.ts";
import { toCompaction, toCompactionPlan } from "./compaction.ts";
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

/** Everything before the engine call. Rejects with a {@link RequestError}. */
export async function prepareMessage(
  c: Context<ApiEnv>,
  deps: MessagesDeps,
): Promise<PreparedMessage> {
  const client = c.get("client");
  const { request, ...sent } = await read(c, messagesRequest, deps);
  const isSummary = request.compaction != null;
  const prepared = await prepareTurn(c, request, { ...sent, isSummary }, deps);
  const compaction = await toCompaction(request, prepared, c.req.raw.signal);
  return {
    ...prepared,
    compaction,
    request,
    isSummary,
    client,
    options: {
      id: `msg_${deps.randomId()}`,
      model: prepared.name,
      requestId: c.get("requestId"),
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
  const { request, ...sent } = await read(c, countRequest, deps);
  return prepareTurn(c, request, { ...sent, isSummary: false }, deps);
}

async function read<T>(c: Context<ApiEnv>, schema: Parser<T>, { limits, pause }: MessagesDeps) {
  const body = await readBody(c, limits.messageLists);
  const stages = createStages(body.length, pause);
  return { body, stages, request: await readRequest(body.value, schema, limits, stages) };
}

interface SentParts {
  readonly body: ReadBody;
  readonly stages: Stages;
  readonly isSummary: boolean;
}

async function prepareTurn(
  c: Context<ApiEnv>,
  sent: CountRequest & Partial<MessagesRequest>,
  { body, stages, isSummary }: SentParts,
  deps: MessagesDeps,
): Promise<PreparedTurn> {
  const { tenant, models } = c.get("client");
  refuseThread(sent);
  const found = requestedModel(sent, models, (name) => deps.findModel(models, name));
  if (found === undefined) throw unknownModel(namedModel(sent), models);
  const { model, name, preset } = found;
  const asked = isSummary ? toSummaryRequest(sent) : withPreset(sent, preset);
  const media = deps.openMedia(tenant);
  c.set("media", media.counts);
  const request = await withMediaTexts(asked, { media, rules: deps.media }, c.req.raw.signal);
  const namedEffort = isSummary ? undefined : found.effort;
  const requestId = c.get("requestId");
  const history = toHistory(request.messages, { bodyText: body.text, media: deps.media });
  const { serverTools, hosted } = deps;
  const { references } = history;
  const bodyText = body.outline;
  await stages.next();
  const offered = toOfferedFunctions(request, {
    bodyText,
    tenant,
    serverTools,
    references,
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
    shieldsNames: deps.shieldsNames(tenant, preset),
    trainedTools: deps.trainedTools(tenant, preset),
    affinity: c.req.header("x-claude-code-session-id")?.slice(0, MAX_SESSION_ID),
  };
  const turnOf = (edited: readonly HistoryEntry[], emptied: ReadonlySet<string> = new Set()) => {
    const sampled = new Map([...restored.sampled].filter(([id]) => !emptied.has(id)));
    return stages.run(toTurnInSteps(request, { ...context, sampled, history: edited }));
  };
  const { signal } = c.req.raw;
  const edited = await toEditedTurn(restored.entries, request, { model, turnOf, signal });
  const { turn, applied, clearedTokens } = edited;
  refuseUnknownEdits(sent, name);
  const plugins = skippedPlugins(request.plugins, found.suffixes, turn);
  const skipped = toSkippedKinds([...offered.skipped, ...plugins, ...history.skipped]);
  if (skipped.length > 0) deps.onSkipped(requestId, skipped);
  return {
    model,
    name,
    turn,
    applied,
    clearedTokens,
    compactionPlan: toCompactionPlan(edited, request, turnOf),
    headers: {
      "request-id": requestId,
      "x-harmony-reasoning-effort": usedEffort(requestedReasoning(request, namedEffort)),
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

/** Kinds are text from the client, so only plausible names are logged. */
function toSkippedKinds(kinds: readonly string[]): readonly string[] {
  const shown = kinds.map((kind) => (/^[!-+\--~]{1,64}$/.test(kind) ? kind : "other"));
  return [...new Set(shown)].toSorted().slice(0, MAX_SKIPPED_KINDS);
}

const MAX_SKIPPED_KINDS = 20;
