/**
 * Server-sent events over a web stream: frames in, a `Response` out.
 *
 * A slow reader is never outrun: a frame is asked for when there is room for it. A client that leaves
 * shows up as the stream's `cancel` on every runtime (on Workers as nothing else), which aborts the turn.
 */

export interface SseOptions {
  /** Silence after which a comment is sent, so that proxies and clients keep the connection open. */
  readonly keepAliveMs: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Called when the client has left before the end. */
  readonly onCancel: (reason: unknown) => void;
}

const KEEP_ALIVE = new TextEncoder().encode(": HARMONY-GATEWAY PROCESSING\n\n");

/** One event. `data` must be free of line breaks, as JSON is. */
export function sseFrame(data: string, event?: string): string {
  return event === undefined ? `data: ${data}\n\n` : `event: ${event}\ndata: ${data}\n\n`;
}

/** Answers with the frames as they come. The frames must turn their own failures into frames. */
export function sseResponse(frames: AsyncIterable<string>, options: SseOptions): Response {
  const encoder = new TextEncoder();
  const iterator = frames[Symbol.asyncIterator]();
  let quiet = false;
  let keepAlive: ReturnType<typeof setInterval> | undefined;

  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    start(controller) {
      keepAlive = setInterval(() => {
        if (quiet && (controller.desiredSize ?? 0) > 0) controller.enqueue(KEEP_ALIVE);
        quiet = true;
      }, options.keepAliveMs);
    },
    async pull(controller) {
      try {
        const { done, value } = await iterator.next();
        quiet = false;
        if (!done) return controller.enqueue(encoder.encode(value));
        clearInterval(keepAlive);
        controller.close();
      } catch (error) {
        clearInterval(keepAlive);
        controller.error(error);
      }
    },
    async cancel(reason) {
      clearInterval(keepAlive);
      options.onCancel(reason);
      // The abort wakes the generator if it waits for the engine. Its end is waited for, because Workers
      // otherwise end the request here and now, and what it was to count and let go is never done.
      await iterator.return?.().catch(() => {});
    },
  });

  return new Response(body, {
    headers: {
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-cache, no-transform",
      "x-accel-buffering": "no",
      ...options.headers,
    },
  });
}
