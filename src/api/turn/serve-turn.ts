/**
 * Serves requests for a turn, for all APIs: reads a request, prepares its turn, runs it and replies. Fields, refusals
 * and replies are in the codec of each API.
 */
import type { Context } from "hono";
import type { NamedEffort } from "../../models/model-name.ts";
import type { FoundModel, Model, Models } from "../../models/models.ts";
import type { ReasoningOutcome } from "../../store/reasoning-store.ts";
import type { ResponseHeaders } from "../../telemetry/response-headers.ts";
import type { Preset } from "../../turn/preset.ts";
import { exactHeader } from "../../turn/sampled/exactness.ts";
import type { Turn } from "../../turn/turn.ts";
import { createAbort } from "../../streams/follow-signal.ts";
import type { Services } from "../api.ts";
import type { ErrorDescription } from "../errors.ts";
import { mediaHeader } from "../media/media-counts.ts";
import type { RequestMedia } from "../media/request-media.ts";
import { EMPTY_ANSWER_HEADER } from "../reply/empty-answer.ts";
import { type HeldReply, holdReply, wholeReply } from "../reply/held-reply.ts";
import { type OpenedStream, type Opening, streamReply } from "../reply/stream-reply.ts";
import { type ReadBody, readBody } from "../request/body-memory.ts";
import type { ApiEnv, Client } from "../request/client.ts";
import type { CountedLists, RequestLimits } from "../request/limits.ts";
import type { RequestText } from "../request/ordered-json.ts";
import { readRequest } from "../request/parse-request.ts";
import { type ReasoningOptions, usedEffort } from "../request/reasoning-options.ts";
import {
  type ModelRequest,
  namedModel,
  type RequestedModel,
  requestedModel,
} from "../request/requested-model.ts";
import type { RequestParser } from "../request/request-schema.ts";
import { createStages, type Stages } from "../request/stages.ts";
import { toNameList } from "../tools/skipped-tools.ts";
import { trainedHeader } from "../trained/trained-tools.ts";

/** An API's reader of requests, without the history. */
export interface RequestCodec<R> {
  readonly limits: RequestLimits & CountedLists;
  readonly schema: RequestParser<R>;
  /** Called before the model is looked up. Throws a {@link RequestError}. */
  readonly refuse?: (request: R) => void;
  /** Finds a model by its name. Absent: the search of `models`. */
  readonly findModel?: (models: Models, name: string) => FoundModel | undefined;
  readonly unknownModel: (name: string, models: Models) => Error;
  /** Fills in the values of the requested preset. */
  readonly withPreset: (request: R, preset: Preset) => R;
  /**
   * The request for a summary of the conversation. Undefined: the request does not ask for one. Absent: the API has no
   * summaries.
   */
  readonly toSummary?: (request: R) => R | undefined;
  readonly reasoning: (request: R, named: NamedEffort | undefined) => ReasoningOptions;
}

/** A request that was read, before its asynchronous preparation. */
export interface ReadTurn<R> {
  readonly body: ReadBody;
  readonly stages: Stages;
  /** The request that the client sent. */
  readonly sent: R;
  /** The request with the values of its preset. */
  readonly request: R;
  /** `request`, or the request for a summary that replaces it. */
  readonly asked: R;
  readonly isSummary: boolean;
  /** Names of the body's members that were not read. */
  readonly unread: readonly string[];
  readonly client: Client;
  readonly requestId: string;
  readonly requested: RequestedModel;
  /** The effort in the model's name, for `asked`. */
  readonly namedEffort: NamedEffort | undefined;
  readonly reasoning: ReasoningOptions;
  readonly media: RequestMedia;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** A request's sender. */
export interface Sender {
  readonly client: Client;
  readonly requestId: string;
}

/** A turn that is ready to run. */
export interface PreparedTurn {
  readonly turn: Turn;
  readonly model: Model;
}

/** `isEmpty`: the turn has ended without an answer. `failure`: the body of an error with the status 502. */
export type WholeReply =
  | { readonly body: object | string; readonly isEmpty: boolean }
  | { readonly failure: object };

/** A request that was read, and the first headers of its reply. */
export interface BegunTurn<R> extends ReadTurn<R> {
  /** Headers of the reply that are known before the turn is prepared. */
  readonly headers: ResponseHeaders;
}

/** An API that serves turns. */
export interface TurnCodec<
  R,
  B extends BegunTurn<R>,
  P extends PreparedTurn,
> extends RequestCodec<R> {
  readonly begin: (read: ReadTurn<R>, c: Context<ApiEnv>) => B;
  /** Prepares the turn, between reading and the engine call. Rejects with a {@link RequestError}. */
  readonly prepare: (read: B, signal: AbortSignal) => Promise<P>;
  /** All headers of a reply. */
  readonly headers: (prepared: P) => ResponseHeaders;
  /** The number of answers in a reply. Absent: one. */
  readonly choices?: (prepared: P) => number;
  /** The body of a plain reply that does not wait for the turn. Undefined: the reply waits. */
  readonly replyAtOnce?: (prepared: P) => Promise<object> | undefined;
  /** Runs the turn for a plain reply. */
  readonly collect: (prepared: P, held: HeldReply, abort: AbortController) => Promise<WholeReply>;
  /** Runs the turn for a stream, and waits until the engine has accepted it: until then, an error can still be an HTTP status. */
  readonly open: (
    prepared: P,
    opening: Opening,
    abort: AbortController,
  ) => Promise<Omit<OpenedStream, "headers"> & Partial<OpenedStream>>;
  /** The last frames of a stream whose turn cannot be prepared. */
  readonly toFailure: (error: ErrorDescription, read: B) => string;
  /** The keep-alive frame until the turn is prepared. Absent: a comment. */
  readonly keepAlive?: string;
}

/** Serves one request. Rejects with a {@link RequestError}. */
export async function serveTurn<
  R extends StreamableRequest,
  B extends BegunTurn<R>,
  P extends PreparedTurn,
>(c: Context<ApiEnv>, codec: TurnCodec<R, B, P>, services: Services): Promise<Response> {
  const read = codec.begin(await readTurn(c, codec, services), c);
  const abort = createAbort(c.req.raw.signal);
  const preparing = codec.prepare(read, abort.signal);
  if (!read.request.stream) return replyWhole(c, await preparing, abort, codec, services);
  const { keepAlive } = codec;
  const plan = {
    preparing,
    async open(prepared: P, opening: Opening): Promise<OpenedStream> {
      const opened = await codec.open(prepared, opening, abort);
      return {
        headers: { ...codec.headers(prepared), ...exactHeader(prepared.turn.prompt.exactness) },
        ...opened,
      };
    },
    toFailure: (error: ErrorDescription) => codec.toFailure(error, read),
    headers: read.headers,
    ...(keepAlive !== undefined && { keepAlive }),
    abort,
  };
  return streamReply(c, plan, services);
}

/** A request for a turn, which may be streamed. */
type StreamableRequest = ModelRequest & { readonly stream?: boolean | null | undefined };

/** Reads a request that came by HTTP. Rejects with a {@link RequestError}. */
export async function readTurn<R extends ModelRequest>(
  c: Context<ApiEnv>,
  codec: RequestCodec<R>,
  services: Services,
): Promise<ReadTurn<R>> {
  const body = await readBody(c, codec.limits.messageLists, services.pause);
  const sender = { client: c.get("client"), requestId: c.get("requestId") };
  const read = await readBodyOfTurn(body, sender, codec, services);
  c.set("media", read.media.counts);
  return read;
}

export async function readBodyOfTurn<R extends ModelRequest>(
  body: ReadBody,
  { client, requestId }: Sender,
  codec: RequestCodec<R>,
  { pause, openMedia, now }: Pick<Services, "pause" | "openMedia" | "now">,
): Promise<ReadTurn<R>> {
  const stages = createStages(body.length, pause);
  const sent = await readRequest(body.value, codec.schema, codec.limits, stages);
  codec.refuse?.(sent);
  const requested = findModel(sent, client.models, codec);
  const { preset } = requested;
  const request = preset === undefined ? sent : codec.withPreset(sent, preset);
  const summary = codec.toSummary?.(request);
  const asked = summary ?? request;
  // A summary needs little reasoning.
  const namedEffort = summary === undefined ? requested.effort : undefined;
  return {
    body,
    stages,
    sent,
    request,
    asked,
    isSummary: summary !== undefined,
    unread: codec.schema.unreadMembers(body.value),
    client,
    requestId,
    requested,
    namedEffort,
    reasoning: codec.reasoning(asked, namedEffort),
    media: openMedia(client.tenant),
    now: now(),
  };
}

/** The model of a request. Throws the API's error if there is none. */
export function findModel<R>(
  request: ModelRequest,
  models: Models,
  { findModel: find, unknownModel }: Pick<RequestCodec<R>, "findModel" | "unknownModel">,
): RequestedModel {
  const found = requestedModel(request, models, find && ((name) => find(models, name)));
  if (found === undefined) throw unknownModel(namedModel(request), models);
  return found;
}

/** The settings of a request's key and preset that shape its turn. */
export function toTurnContext(
  read: Pick<ReadTurn<unknown>, "requestId" | "requested" | "namedEffort" | "now"> & RequestText,
  { system, hosted, promptRules, settings }: Services,
) {
  const { requestId, requested, namedEffort, tenant, bodyText } = read;
  const { preset } = requested;
  return {
    turnId: requestId,
    tenant,
    bodyText,
    namedEffort,
    preset,
    system: system(read.now),
    now: read.now,
    hosted,
    style: settings.toolNamespaces,
    rules: promptRules(tenant, preset),
  };
}

/** The reply headers common to all APIs. */
export function turnHeaders(
  { reasoning, media, unread }: Pick<ReadTurn<unknown>, "reasoning" | "media" | "unread">,
  turn: Turn,
  outcome: ReasoningOutcome | undefined,
): ResponseHeaders {
  return {
    ...effortHeader(reasoning),
    ...(unread.length > 0 && { "x-harmony-skipped-fields": toNameList(unread) }),
    ...(outcome && { "x-harmony-cot": outcome }),
    ...mediaHeader(media.counts),
    ...trainedHeader(turn),
  };
}

export function effortHeader(reasoning: ReasoningOptions): ResponseHeaders {
  return { "x-harmony-reasoning-effort": usedEffort(reasoning) };
}

async function replyWhole<R, B extends BegunTurn<R>, P extends PreparedTurn>(
  c: Context<ApiEnv>,
  prepared: P,
  abort: AbortController,
  codec: TurnCodec<R, B, P>,
  { replies, pause }: Services,
): Promise<Response> {
  const atOnce = codec.replyAtOnce?.(prepared);
  if (atOnce !== undefined) {
    const headers = codec.headers(prepared);
    return c.json(await atOnce, 200, headers);
  }
  const { turn, model } = prepared;
  const { contextLength } = model;
  const choices = codec.choices?.(prepared) ?? 1;
  const { signal } = abort;
  const held = await holdReply({ turn, contextLength, choices, signal }, { replies, pause });
  try {
    const reply = await codec.collect(prepared, held, abort);
    const own = codec.headers(prepared);
    if ("failure" in reply) {
      held.release();
      return c.json(reply.failure, 502, own);
    }
    const all = {
      ...own,
      ...exactHeader(turn.prompt.exactness),
      ...(reply.isEmpty && EMPTY_ANSWER_HEADER),
    };
    return wholeReply(c, reply.body, all, { held, pause });
  } catch (error) {
    held.release();
    throw error;
  }
}
