/**
 * Server-sent events: frames in, a `Response` out.
 *
 * Backpressure: no frame is produced while the client has no room for it. When a client disconnects, every runtime
 * cancels the stream, which aborts the turn. On Workers there is no other signal.
 */
import type { ResponseHeaders } from "../../telemetry/response-headers.ts";
import type { PushStream } from "../../streams/push-stream.ts";

export interface SseOptions {
  /** Idle time after which a keep-alive has been sent, so that proxies and clients keep the connection open. */
  readonly keepAliveMs: number;
  /** The next keep-alive frame. Absent: a comment. */
  readonly keepAlive?: string | (() => string);
  /**
   * Time after which a client that reads nothing is disconnected. A runtime that writes frames itself enforces it too.
   */
  readonly clientIdleTimeoutMs: number;
  readonly headers?: ResponseHeaders;
  /** Absent: only the text of frames is known. */
  readonly hints?: FrameHints;
  /** Called when the client disconnects before the end. */
  readonly onCancel: (reason: unknown) => void;
}

/** Facts about the frames of a response other than their text. Set by the producer of the frames. */
export interface FrameHints {
  /** No other frame follows this one: the response may be completed with it. */
  isLast: boolean;
}

/** The frames of one response. The stream never rejects for a failed turn: it sends an error frame. */
export interface SseSource extends SseOptions {
  readonly frames: PushStream<string>;
  /** The route's response. A response that middleware substitutes has its own headers. */
  readonly response: Response;
  /** The headers of `response`, kept because reading them from it costs 3 % of a short request on Node. */
  readonly head: Readonly<Record<string, string>>;
}

/** Wraps the frames, so that middleware may observe them as they are written. */
export type WatchFrames = (frames: PushStream<string>) => PushStream<string>;

/** Variables that a stream shares with the middleware around its route. */
export interface SseVariables {
  requestId: string;
  /** The response whose head already has the request's id. */
  identified?: Response;
  /** Set while the exchange is recorded. */
  watchFrames?: WatchFrames;
}

/** The part of Hono's context that is used here. */
interface SseContext {
  readonly env: SseBindings | undefined;
  get(name: "watchFrames"): WatchFrames | undefined;
  /** Undefined where a test has no middleware. */
  get(name: "requestId"): string | undefined;
  set(name: "identified", response: Response): void;
}

/** Functions that a runtime may pass with a request. */
export interface SseBindings {
  /** Writes this response's frames directly, faster than a web stream. */
  takeFrames?: (source: SseSource) => void;
  /** Present with an upgrade: calls the listener with the number of bytes that have arrived on its socket. */
  watchBytes?: (listener: (bytes: number) => void) => void;
}

/** The default keep-alive frame, for APIs without an event for it. */
export const KEEP_ALIVE = ": HARMONY-GATEWAY PROCESSING\n\n";

/** The end of an event. */
export const END_OF_FRAME = "\n\n";

/** Formats one event. `data` must be free of line breaks, like JSON. */
export function sseFrame(data: string, event?: string): string {
  const head = event === undefined ? "" : `event: ${event}\n`;
  return `${head}data: ${data}${END_OF_FRAME}`;
}

/**
 * Streams the frames over a web stream, unless the runtime writes them itself (see `node/server/direct-sse.ts`). In
 * that case the response has only a head.
 */
export function sseResponse(
  c: SseContext,
  frames: PushStream<string>,
  options: SseOptions,
): Response {
  const source = { ...options, frames: c.get("watchFrames")?.(frames) ?? frames };
  const requestId = c.get("requestId");
  const head = {
    "cache-control": "no-cache, no-transform",
    "content-type": "text/event-stream; charset=utf-8",
    "x-accel-buffering": "no",
    ...options.headers,
    ...(requestId !== undefined && { "x-request-id": requestId }),
  };
  // `env` is undefined where a test or a runtime passes none.
  const takeFrames = c.env?.takeFrames;
  const body = takeFrames === undefined ? toStream(source) : null;
  const response = new Response(body, { headers: head });
  c.set("identified", response);
  takeFrames?.({ ...source, response, head });
  return response;
}

/** The next keep-alive frame. It must not be empty: an empty chunk ends an HTTP response. */
export function toFrame(keepAlive: string | (() => string)): string {
  return typeof keepAlive === "string" ? keepAlive : keepAlive();
}

function toStream(source: Omit<SseSource, "response" | "head">): ReadableStream {
  const {
    frames,
    keepAliveMs,
    keepAlive: ping = KEEP_ALIVE,
    clientIdleTimeoutMs,
    onCancel,
  } = source;
  const encoder = new TextEncoder();
  let silence: Silence | undefined;
  let stalled: ReturnType<typeof setInterval> | undefined;
  /** The producer, waiting until the client has read. */
  let room: PromiseWithResolvers<boolean> | undefined;
  let ended: Promise<void> | undefined;
  let left = false;

  return new ReadableStream<Uint8Array<ArrayBuffer>>({
    start(controller) {
      const hasRoom = () => (controller.desiredSize ?? 0) > 0;
      silence = new Silence(keepAliveMs, () => {
        if (!hasRoom()) return false;
        controller.enqueue(encoder.encode(toFrame(ping)));
        return true;
      });
      // One interval instead of a timer per frame: a client is disconnected after one to two times the timeout.
      let seen: typeof room;
      stalled = setInterval(() => {
        if (room === undefined || room !== seen) {
          seen = room;
          return;
        }
        const error = new Error("the client has read nothing for clientIdleTimeoutMs");
        left = true;
        onCancel(error);
        controller.error(error);
        room.resolve(false);
      }, clientIdleTimeoutMs);
      const write = async () => {
        await frames.pushTo((frame) => {
          if (left) return false;
          silence?.end();
          controller.enqueue(encoder.encode(frame));
          if (hasRoom()) return true;
          room = Promise.withResolvers();
          return room.promise;
        });
        if (!left) controller.close();
      };
      ended = write()
        .catch((error: unknown) => controller.error(error))
        .finally(() => {
          silence?.stop();
          clearInterval(stalled);
        });
    },
    pull() {
      room?.resolve(true);
      room = undefined;
    },
    async cancel(reason) {
      left = true;
      onCancel(reason);
      room?.resolve(false);
      // Await the end: Workers otherwise end the request immediately, and its metrics and cleanup never happen.
      await ended;
    },
  });
}

/**
 * Sends keep-alives when no frame was sent for `keepAliveMs`, or for up to a quarter less. On runtimes that do not
 * report a disconnected client, writing a keep-alive also detects it.
 *
 * The time is counted in quarters, because a timer for each frame would cost more than the frame.
 */
const QUARTERS = 4;

export class Silence {
  #quarters = 0;
  readonly #timer: ReturnType<typeof setInterval>;

  /** @param write sends a keep-alive. Returns false if the client has no room now. */
  constructor(keepAliveMs: number, write: () => boolean) {
    this.#timer = setInterval(() => {
      this.#quarters += 1;
      if (this.#quarters >= QUARTERS && write()) this.#quarters = 0;
    }, keepAliveMs / QUARTERS);
  }

  /** A frame is sent. */
  end(): void {
    this.#quarters = 0;
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
