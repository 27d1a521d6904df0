/**
 * Replies with a stream. Its head waits until the request is prepared and the engine has accepted it, so that an early failure can
 * still be an HTTP status, but for at most `keepAliveMs`: descriptions of images take longer, and clients give up on silence.
 */
import type { Context } from "hono";
import { type Consumer, createPushStream, type PushStream } from "../../streams/push-stream.ts";
import type { ResponseHeaders } from "../../telemetry/response-headers.ts";
import { withinRequest } from "../../telemetry/tracing/request-span.ts";
import { describeError, type ErrorDescription, toError } from "../errors.ts";
import type { ApiEnv, Client } from "../request/client.ts";
import {
  type FrameHints,
  KEEP_ALIVE,
  sseResponse,
  type SseOptions,
  toFrame,
} from "./event-stream.ts";
import type { BegunOptions } from "./wait-for-first-event.ts";

/** A stream whose request is prepared. */
export interface OpenedStream {
  readonly frames: PushStream<string>;
  readonly headers: ResponseHeaders;
  /** The keep-alive frames. Absent: comments. */
  readonly keepAlive?: NonNullable<SseOptions["keepAlive"]>;
}

/** Arguments for running a prepared request. */
export interface Opening extends BegunOptions {
  /** Facts about the frames, set while they are produced. */
  readonly hints: FrameHints;
  /** Describes a failure after the head, for a frame, and reports it unless the client has left. */
  readonly fail: Fail;
}

export type Fail = (error: unknown) => ErrorDescription;

export interface StreamPlan<P extends object> {
  /** Everything before the engine call. */
  readonly preparing: Promise<P>;
  /** Runs the prepared request, and waits until the engine has accepted it. */
  readonly open: (prepared: P, opening: Opening) => Promise<OpenedStream>;
  /** The last frames of a stream whose request cannot be prepared. */
  readonly toFailure: (error: ErrorDescription) => string;
  /** Headers that are known before the request is prepared. */
  readonly headers?: ResponseHeaders;
  /** The keep-alive frame until the request is prepared. Absent: a comment. */
  readonly keepAlive?: string;
  /** Stops preparing and running. */
  readonly abort: AbortController;
}

export interface StreamDeps {
  readonly keepAliveMs: number;
  /** Time for which a client may leave sent data unread. */
  readonly clientIdleTimeoutMs: number;
  /** Monotonic, in whole milliseconds: for waits, lifetimes and durations. */
  readonly clock: () => number;
  /** Called with an error that ends a request, as a status or in a stream: logs the gateway's own failures. */
  readonly onFailure: OnFailure;
}

/** `client`: undefined if it is not known yet. */
export type OnFailure = (error: unknown, requestId: string, client: Client | undefined) => void;

export async function streamReply<P extends object>(
  c: Context<ApiEnv>,
  plan: StreamPlan<P>,
  deps: StreamDeps,
): Promise<Response> {
  const { clock, keepAliveMs } = deps;
  const start = clock();
  const prepared = await inTime(plan.preparing, keepAliveMs);
  if (prepared === undefined) return replyUnprepared(c, plan, deps);
  const { signal } = plan.abort;
  const hints: FrameHints = { isLast: false };
  const patienceMs = Math.max(0, keepAliveMs - (clock() - start));
  const fail = toFail(toFailing(c, deps), signal);
  const { frames, ...opened } = await plan.open(prepared, { patienceMs, signal, hints, fail });
  return sseResponse(c, frames, { ...toOptions(plan.abort, hints, deps), ...opened });
}

/** Sends the head now, and keep-alives until the request is prepared. */
function replyUnprepared<P extends object>(
  c: Context<ApiEnv>,
  plan: StreamPlan<P>,
  deps: StreamDeps,
): Response {
  const late = new LateFrames(plan, toFailing(c, deps));
  const { onCancel, ...options } = toOptions(plan.abort, late.hints, deps);
  const pushTo = withinRequest((consumer: Consumer<string>) => late.pushTo(consumer));
  const frames = createPushStream(pushTo);
  return sseResponse(c, frames, {
    ...options,
    ...(plan.headers && { headers: plan.headers }),
    keepAlive: () => toFrame(late.keepAlive),
    onCancel(reason) {
      late.hasLeft = true;
      onCancel(reason);
    },
  });
}

/** The data of a request that a failure after the head needs, without its context, which retains the body. */
interface Failing {
  readonly client: AbortSignal;
  readonly note: (error: unknown) => void;
}

function toFailing(c: Context<ApiEnv>, { onFailure }: StreamDeps): Failing {
  const [id, client, ending] = [c.get("requestId"), c.get("client"), c.get("ending")];
  return {
    client: c.req.raw.signal,
    note(error) {
      // The status has been sent; the log and the audit report the error.
      if (ending) ending.error = toError(error);
      onFailure(error, id, client);
    },
  };
}

function toFail({ note }: Failing, signal: AbortSignal): Fail {
  return (error) => {
    if (!signal.aborted) note(error);
    return describeError(error);
  };
}

/** Frames of a request that is not prepared yet. */
class LateFrames<P extends object> {
  readonly hints: FrameHints = { isLast: false };
  keepAlive: NonNullable<SseOptions["keepAlive"]>;
  /** Whether the client has disconnected. */
  hasLeft = false;
  readonly #failing: Failing;
  /** Undefined once it is used, because it retains the request's body. */
  #plan: StreamPlan<P> | undefined;

  constructor(plan: StreamPlan<P>, failing: Failing) {
    this.#plan = plan;
    this.#failing = failing;
    this.keepAlive = plan.keepAlive ?? KEEP_ALIVE;
  }

  async pushTo(consumer: Consumer<string>): Promise<void> {
    const frames = await this.#open(consumer);
    await frames?.pushTo(consumer);
  }

  /** Undefined: the request has failed. */
  async #open(consumer: Consumer<string>): Promise<PushStream<string> | undefined> {
    const plan = this.#plan;
    this.#plan = undefined;
    if (plan === undefined) return undefined;
    const { hints } = this;
    try {
      const { signal } = plan.abort;
      const fail = toFail(this.#failing, signal);
      const opening = { patienceMs: 0, signal, hints, fail };
      const opened = await plan.open(await plan.preparing, opening);
      this.keepAlive = opened.keepAlive ?? KEEP_ALIVE;
      return opened.frames;
    } catch (error) {
      // An aborted plan is not enough: the route may have aborted it with this error.
      if (this.hasLeft || this.#failing.client.aborted) return undefined;
      this.#failing.note(error);
      hints.isLast = true;
      await consumer(plan.toFailure(describeError(error)));
      return undefined;
    }
  }
}

/** A separate function, because `onCancel` is retained as long as the stream, and so is everything in its scope. */
function toOptions(
  abort: AbortController,
  hints: FrameHints,
  { keepAliveMs, clientIdleTimeoutMs }: StreamDeps,
): SseOptions {
  return {
    hints,
    keepAliveMs,
    clientIdleTimeoutMs,
    onCancel: (reason) => abort.abort(reason),
  };
}

/** Undefined: the work takes longer. */
async function inTime<T>(work: Promise<T>, ms: number): Promise<T | undefined> {
  const late = Promise.withResolvers<undefined>();
  const timer = setTimeout(late.resolve, ms, undefined);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
