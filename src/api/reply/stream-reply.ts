/**
 * Replies with a stream. Its head waits until the request is prepared and the engine has accepted it, so that an early failure can
 * still be an HTTP status, but for at most `keepAliveMs`: descriptions of images take longer, and clients give up on silence.
 */
import type { Context } from "hono";
import { createPushStream, type PushStream } from "../../streams/push-stream.ts";
import type { ResponseHeaders } from "../../telemetry/response-headers.ts";
import { describeError, type ErrorDescription } from "../errors.ts";
import type { ApiEnv } from "../request/client.ts";
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
  /** Absent: a comment. */
  readonly keepAlive?: NonNullable<SseOptions["keepAlive"]>;
}

/** With what a prepared request is run. */
export interface Opening extends BegunOptions {
  /** For the frames. */
  readonly hints: FrameHints;
}

export interface StreamPlan<P extends object> {
  /** Everything before the engine call. */
  readonly preparing: Promise<P>;
  /** Runs what is prepared, and waits until the engine has accepted it. */
  readonly open: (prepared: P, opening: Opening) => Promise<OpenedStream>;
  /** The last frames of a stream whose request cannot be prepared. */
  readonly toFailure: (error: ErrorDescription) => string;
  /** Those that are known before. */
  readonly headers?: ResponseHeaders;
  /** Until it is prepared. Absent: a comment. */
  readonly keepAlive?: string;
  /** Stops preparing and running. */
  readonly abort: AbortController;
}

export interface StreamDeps {
  readonly keepAliveMs: number;
  /** How long a client may leave sent data unread. */
  readonly clientIdleTimeoutMs: number;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
  /** Called with a failure that no status reports. */
  readonly onFailure: (c: Context<ApiEnv>, error: unknown) => void;
}

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
  const { frames, ...opened } = await plan.open(prepared, { patienceMs, signal, hints });
  return sseResponse(c, frames, { ...toOptions(plan.abort, hints, deps), ...opened });
}

/** The head now, and keep-alives until the rest is there. */
function replyUnprepared<P extends object>(
  c: Context<ApiEnv>,
  { preparing, open, toFailure, headers = {}, keepAlive, abort }: StreamPlan<P>,
  deps: StreamDeps,
): Response {
  const { signal } = abort;
  const hints: FrameHints = { isLast: false };
  let hasLeft = false;
  let silent: NonNullable<SseOptions["keepAlive"]> = keepAlive ?? KEEP_ALIVE;
  const frames = createPushStream<string>(async (consumer) => {
    let opened;
    try {
      opened = await open(await preparing, { patienceMs: 0, signal, hints });
    } catch (error) {
      // The route may have aborted as well, with this error.
      if (hasLeft || c.req.raw.signal.aborted) return;
      // Too late for a status; the log and the audit have it.
      c.error = error instanceof Error ? error : new Error("unknown", { cause: error });
      deps.onFailure(c, error);
      hints.isLast = true;
      await consumer(toFailure(describeError(error)));
      return;
    }
    silent = opened.keepAlive ?? KEEP_ALIVE;
    await opened.frames.pushTo(consumer);
  });
  const { onCancel, ...options } = toOptions(abort, hints, deps);
  return sseResponse(c, frames, {
    ...options,
    headers,
    keepAlive: () => toFrame(silent),
    onCancel(reason) {
      hasLeft = true;
      onCancel(reason);
    },
  });
}

/** A function of its own: what is called when a client leaves is held as long as the stream, and with it all that it could see. */
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

/** Undefined: it takes longer. */
function inTime<T>(work: Promise<T>, ms: number): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms, undefined);
    const settle =
      <V>(next: (value: V) => void) =>
      (value: V): void => {
        clearTimeout(timer);
        next(value);
      };
    work.then(settle(resolve), settle(reject));
  });
}
