/**
 * Writes server-sent events directly to the socket. On other runtimes `api/reply/event-stream.ts` uses a web stream.
 *
 * The behaviour is otherwise equal: the response's head comes from the application and its middleware, no frame is produced while
 * the socket is full, and a client that disconnects cancels the turn.
 */
import { Buffer } from "node:buffer";
import { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { createAdaptorServer } from "@hono/node-server";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import {
  type FrameHints,
  KEEP_ALIVE,
  toFrame,
  type SseSource,
  Silence,
} from "../../api/reply/event-stream.ts";
import type { Demand } from "../../streams/push-stream.ts";
import type { SentResponse } from "../../api/request/client.ts";

export type FetchHandler = Parameters<typeof createAdaptorServer>[0]["fetch"];

/**
 * Bun 1.4.5 frames data that follows the head as a chunk, whatever the value of `chunkedEncoding`: clients would read the sizes
 * as text.
 */
const FRAMES_AGAIN = "bun" in process.versions;

/** Wraps a handler so that SSE frames are written to the socket without web streams. */
export function writeFramesDirectly(handler: FetchHandler): FetchHandler {
  return async (request, env) => {
    const { outgoing } = env;
    // HTTP/2 has its own framing.
    if (!(outgoing instanceof ServerResponse)) return handler(request, env);
    const afterResponse = watchResponse(outgoing);
    if (FRAMES_AGAIN) return handler(request, Object.assign(env, { afterResponse }));
    const sources: SseSource[] = [];
    const takeFrames = (source: SseSource) => void sources.push(source);
    const response = await handler(request, Object.assign(env, { takeFrames, afterResponse }));
    const [source] = sources;
    if (source === undefined || !(response instanceof Response)) return response;
    if (response.status !== 200) {
      source.onCancel(new Error("another response replaced it"));
      return response;
    }
    const isOwn = response === source.response;
    void writeFrames(outgoing, isOwn ? source.head : Object.fromEntries(response.headers), source);
    return RESPONSE_ALREADY_SENT;
  };
}

async function writeFrames(
  outgoing: ServerResponse,
  head: Readonly<Record<string, string>>,
  { frames, hints, keepAliveMs, keepAlive: ping = KEEP_ALIVE, onCancel }: SseSource,
): Promise<void> {
  const client = new Client(outgoing, head);
  const silence = new Silence(keepAliveMs, () => {
    if (client.isFull) return false;
    client.write(toFrame(ping));
    return true;
  });
  const cancel = () => onCancel(new Error("the client has disconnected"));
  if (outgoing.destroyed) cancel();
  else outgoing.once("close", () => void (outgoing.writableFinished || cancel()));
  try {
    await frames.pushTo((frame) => {
      if (outgoing.destroyed) return false;
      silence.end();
      return client.write(frame, hints) || client.drained();
    });
    client.end();
  } catch (error) {
    outgoing.destroy(error instanceof Error ? error : new Error(String(error)));
  } finally {
    silence.stop();
  }
}

/** Maximum characters that are gathered. */
const MAX_GATHERED = 16_384;

/**
 * Writes a response: the head, and each frame as an HTTP chunk. Chunks are framed here: `node:http` writes each as four
 * buffers (size, line end, bytes, line end) instead of one string, which costs 3 to 4 µs of CPU per token.
 *
 * The head and the frames of the first turn of the event loop with frames are gathered, and the end is written with the last
 * frame: a short answer leaves in one write instead of five. No data waits beyond the turn of the event loop in which it was
 * produced, or for the turn's own end. Frames in between are written at once: gathering them costs more than it saves where each
 * token arrives alone.
 */
class Client {
  readonly #outgoing: ServerResponse;
  /** The socket. A pipelined response has none until the response before it has ended. */
  readonly #socket: Socket | null;
  readonly #takesChunks: boolean;
  #hasHead = false;
  /** True until a frame has been written. */
  #isGathering = true;
  /** The last frame and the end of the body were written. */
  #isComplete = false;
  #gathered = "";
  #isScheduled = false;

  constructor(outgoing: ServerResponse, head: Readonly<Record<string, string>>) {
    this.#outgoing = outgoing;
    this.#socket = outgoing.socket;
    this.#takesChunks = outgoing.useChunkedEncodingByDefault;
    outgoing.writeHead(200, this.#takesChunks ? { ...head, "transfer-encoding": "chunked" } : head);
    // `node:http` must not frame the body again.
    outgoing.chunkedEncoding = false;
    this.#schedule();
  }

  get isFull(): boolean {
    return (this.#socket ?? this.#outgoing).writableNeedDrain;
  }

  /** False: wait for `drained` before the next write. Frames behind the last one are dropped. */
  write(frame: string, hints?: FrameHints): boolean {
    if (this.#isComplete) return true;
    const chunk = this.#toChunk(frame);
    if (hints?.isLast === true) return this.#complete(chunk);
    if (!this.#isGathering) return this.#writeNow(chunk);
    this.#gathered += chunk;
    if (this.#gathered.length > MAX_GATHERED) return this.#flush();
    this.#schedule();
    return true;
  }

  /** Resolves when there is room, or with false when the client has disconnected. */
  drained(): Exclude<Demand, boolean> {
    const outgoing = this.#outgoing;
    const writable = this.#socket ?? outgoing;
    return new Promise((resolve) => {
      const settle = () => {
        writable.off("drain", settle);
        outgoing.off("close", settle);
        resolve(!outgoing.destroyed);
      };
      writable.on("drain", settle);
      outgoing.on("close", settle);
    });
  }

  end(): void {
    if (!this.#isComplete) this.#complete("");
    this.#outgoing.end();
  }

  #complete(chunk: string): boolean {
    this.#isComplete = true;
    this.#gathered += this.#takesChunks ? `${chunk}0\r\n\r\n` : chunk;
    return this.#flush();
  }

  #toChunk(frame: string): string {
    if (!this.#takesChunks) return frame;
    return `${Buffer.byteLength(frame).toString(16)}\r\n${frame}\r\n`;
  }

  /** Schedules a write in a tick, which runs when all promises that can settle have settled, before the event loop continues. */
  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    process.nextTick(() => {
      this.#isScheduled = false;
      if (this.#isGathering) this.#flush();
    });
  }

  /** Writes the gathered text: the head alone if there is no frame. */
  #flush(): boolean {
    const text = this.#gathered;
    this.#gathered = "";
    if (this.#outgoing.destroyed) return false;
    if (text !== "") {
      this.#isGathering = false;
      return this.#writeNow(text);
    }
    if (!this.#hasHead) this.#outgoing.flushHeaders();
    this.#hasHead = true;
    return true;
  }

  #writeNow(text: string): boolean {
    const socket = this.#socket;
    if (socket === null) return this.#outgoing.write(text);
    if (this.#hasHead) return socket.write(text);
    this.#hasHead = true;
    // `node:http` prepends the head to the first text, and would cork the socket until the next tick.
    socket.cork();
    const hasRoom = this.#outgoing.write(text);
    socket.uncork();
    return hasRoom;
  }
}

/** Counts the bytes of head and body on the connection. */
function watchResponse(outgoing: ServerResponse): (listener: (sent: SentResponse) => void) => void {
  // A closed response has no socket any more.
  const { socket } = outgoing;
  const before = socket?.bytesWritten ?? 0;
  return (listener) => {
    const report = () => {
      listener({
        bytes: (socket?.bytesWritten ?? before) - before,
        isComplete: outgoing.writableFinished,
      });
    };
    if (outgoing.closed) report();
    else outgoing.on("close", report);
  };
}
