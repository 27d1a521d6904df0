/** WebSockets on Node through `ws`, an optional dependency: without it all other features work. */
import type { EventEmitter } from "node:events";
import { upgradeWebSocket, type WebSocketServerLike } from "@hono/node-server";
import type { WebSocket, WebSocketServer } from "ws";
import type { WebSocketOptions } from "../../api/api.ts";

export interface WebSockets {
  /** The upgrade handler of the application. */
  readonly upgrade: WebSocketOptions["upgrade"];
  /** The WebSocket server of the HTTP server. */
  readonly server: WebSocketServerLike;
  /** Sets the maximum size of a message on connections that are opened from now on. A longer message ends its connection. */
  limit(maxMessageBytes: number): void;
  /** Closes all connections immediately, without closing handshakes. */
  cut(): void;
}

/** Maximum time of a client for the closing handshake. Parts of a message that it has sent are held as long. */
const CLOSE_TIMEOUT_MS = 10_000;

/**
 * Maximum fragments of a message, each in a separate buffer until the last one has arrived. Clients that fragment use 16 KB or
 * more.
 */
const MAX_FRAGMENTS = 4096;

/**
 * Minimum limit of reads for an unfinished frame; the limit grows by one for each kilobyte of the longest message. `ws` removes
 * the first of its list of reads one by one, and V8 moves the rest of a long list each time.
 */
const MIN_READS = 4096;
const BYTES_PER_READ = 1024;

/** Undefined if `ws` is not installed. */
export async function openWebSockets(maxMessageBytes: number): Promise<WebSockets | undefined> {
  const ws = await import("ws").catch(() => undefined);
  if (ws === undefined) return undefined;
  const options = {
    noServer: true,
    ...toLimits(maxMessageBytes),
    maxFragments: MAX_FRAGMENTS,
    closeTimeout: CLOSE_TIMEOUT_MS,
    // One read may hold 9,000 messages: each gets a separate turn of the event loop.
    allowSynchronousEvents: false,
    // `ws` would queue a pong for each ping, even for a client that reads none.
    autoPong: false,
  };
  const server = new ws.WebSocketServer(options);
  server.on("connection", answerPings);
  if (!isDetached(server)) throw new TypeError("ws has opened its own server");
  return {
    upgrade: upgradeWebSocket,
    server,
    // `ws` reads the options with each connection.
    limit: (bytes) => void Object.assign(server.options, toLimits(bytes)),
    cut() {
      for (const client of server.clients) client.terminate();
    },
  };
}

function toLimits(maxMessageBytes: number) {
  return {
    maxPayload: maxMessageBytes,
    maxBufferedChunks: Math.max(MIN_READS, Math.ceil(maxMessageBytes / BYTES_PER_READ)),
  };
}

/** The members of a socket for answering pings. */
type Pinged = Pick<WebSocket, "OPEN" | "pong"> & EventEmitter & { readonly readyState: number };

/** Answers the last of the pings that have arrived while a pong was being sent, as RFC 6455 allows (5.5.3). */
export function answerPings(socket: Pinged): void {
  let last: Buffer | undefined;
  let isSending = false;
  const answer = () => {
    const data = last;
    last = undefined;
    isSending = data !== undefined && socket.readyState === socket.OPEN;
    if (isSending) socket.pong(data, false, answer);
  };
  socket.on("ping", (data: Buffer) => {
    last = data;
    if (!isSending) answer();
  });
}

/** Whether the server has no HTTP server, as the adapter requires. The types of `ws` do not express it. */
function isDetached(server: WebSocketServer): server is WebSocketServer & WebSocketServerLike {
  return server.options.noServer === true;
}
