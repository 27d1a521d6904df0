/** WebSockets on Node, by the package `ws`. It is optional: without it the gateway serves everything else. */
import { upgradeWebSocket, type WebSocketServerLike } from "@hono/node-server";
import type { WebSocketServer } from "ws";
import type { WebSocketOptions } from "../api/web-sockets.ts";

export interface WebSockets {
  /** For the application. */
  readonly options: WebSocketOptions;
  /** For the HTTP server. */
  readonly server: WebSocketServerLike;
  /** Ends all connections at once, without closing handshakes. */
  cut(): void;
}

/**
 * Undefined when `ws` is not installed.
 * @param maxMessageBytes A longer message ends its connection.
 * @param closing When it is aborted, connections end with the response that is in flight.
 */
export async function openWebSockets(
  maxMessageBytes: number,
  closing: AbortSignal,
): Promise<WebSockets | undefined> {
  const ws = await import("ws").catch(() => undefined);
  if (ws === undefined) return undefined;
  const server = new ws.WebSocketServer({ noServer: true, maxPayload: maxMessageBytes });
  if (!isDetached(server)) throw new TypeError("ws has opened a server of its own");
  return {
    options: { upgrade: upgradeWebSocket, closing },
    server,
    cut() {
      for (const client of server.clients) client.terminate();
    },
  };
}

/** Has no HTTP server of its own: what the adapter asks for. The types of `ws` leave it open. */
function isDetached(server: WebSocketServer): server is WebSocketServer & WebSocketServerLike {
  return server.options.noServer === true;
}
