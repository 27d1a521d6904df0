/**
 * Server-sent events: frames in, a `Response` out.
 *
 * A slow reader is never outrun: no frame is taken while there is no room for it. A client that leaves shows
 * up as the stream's `cancel` on every runtime (on Workers as nothing else), which aborts the turn.
 */
import type { PushStream } from "../streams/push-stream.ts";

export interface SseOptions {
  /** Silence after which something is sent, so that proxies and clients keep the connection open. */
  readonly keepAliveMs: number;
  /** What is sent into silence. Absent: a comment. */
  readonly keepAlive?: string;
  /** How long a client may read nothing before it is given up. Where the runtime writes, it looks after this itself. */
  readonly clientIdleTimeoutMs: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Called when the client has left before the end. */
  readonly onCancel: (reason: unknown) => void;
}

/** The frames of one response, for whoever writes them. They turn their own failures into frames. */
export interface SseSource extends SseOptions {
  readonly frames: PushStream<string>;
}

/** What a runtime may hand in beside a request. */
export interface SseBindings {
  /** Writes the frames of this request's response by itself, faster than a web stream would. */
  takeFrames?: (source: SseSource) => void;
}

/** Sent into silence, unless an API has an event for it. */
export const KEEP_ALIVE = ": HARMONY-GATEWAY PROCESSING\n\n";

/** One event. `data` must be free of line breaks, as JSON is. */
export function sseFrame(data: string, event?: string): string {
  return event === undefined ? `data: ${data}\n\n` : `event: ${event}\ndata: ${data}\n\n`;
}

/**
 * Answers with the frames as they come: over a web stream, unless the runtime has offered to write them itself
 * (see `node/direct-sse.ts`). The response then is the head alone.
 */
export function sseResponse(
  c: { readonly env: SseBindings | undefined },
  frames: PushStream<string>,
  options: SseOptions,
): Response {
  const source = { ...options, frames };
  // Undefined where a test or a runtime hands in nothing.
  const takeFrames = c.env?.takeFrames;
  takeFrames?.(source);
  return new Response(takeFrames === undefined ? toStream(source) : null, {
    headers: {
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-cache, no-transform",
      "x-accel-buffering": "no",
      ...options.headers,
    },
  });
}

function toStream(source: SseSource): ReadableStream {
  const {
    frames,
    keepAliveMs,
    keepAlive: ping = KEEP_ALIVE,
    clientIdleTimeoutMs,
    onCancel,
  } = source;
  const encoder = new TextEncoder();
  let quiet = false;
  let keepAlive: ReturnType<typeof setInterval> | undefined;
  let stalled: ReturnType<typeof setInterval> | undefined;
  /** Whoever waits until the client has read. */
  let room: PromiseWithResolvers<boolean> | undefined;
  let ended: Promise<void> | undefined;
  let left = false;

  return new ReadableStream<Uint8Array<ArrayBuffer>>({
    start(controller) {
      const hasRoom = () => (controller.desiredSize ?? 0) > 0;
      keepAlive = setInterval(() => {
        if (quiet && hasRoom()) controller.enqueue(encoder.encode(ping));
        quiet = true;
      }, keepAliveMs);
      // Looked at now and then instead of timed for each frame: a client is given up after one to two times the timeout.
      let seen: typeof room;
      stalled = setInterval(() => {
        if (room === undefined || room !== seen) {
          seen = room;
          return;
        }
        const error = new Error("the client reads nothing");
        left = true;
        onCancel(error);
        controller.error(error);
        room.resolve(false);
      }, clientIdleTimeoutMs);
      const write = async () => {
        await frames.pushTo((frame) => {
          if (left) return false;
          quiet = false;
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
          clearInterval(keepAlive);
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
      // The end is waited for, because Workers otherwise end the request here and now, and what it was to count
      // and let go is never done.
      await ended;
    },
  });
}
