/** WebSockets on Node through `ws`, an optional dependency: without it everything else still works. */
import { upgradeWebSocket, type WebSocketServerLike } from "@hono/node-server";
import type { WebSocketServer } from "ws";
import type { WebSocketOptions } from "../api/web-sockets.ts";

export interface WebSockets {
  /** For the application. */
  readonly options: WebSocketOptions;
  /** For the HTTP server. */
  readonly server: WebSocketServerLike;
  /** Closes all connections immediately, without closing handshakes. */
  cut(): void;
}

/**
 * Undefined when `ws` is not installed.
 * @param maxMessageBytes A longer message ends its connection.
 * @param closing When aborted, each connection closes after its in-flight response.
 */
export async function openWebSockets(
  maxMessageBytes: number,
  closing: AbortSignal,
): Promise<WebSockets | undefined> {
  const ws = await import("ws").catch(() => undefined);
  if (ws === undefined) return undefined;
  const server = new ws.WebSocketServer({ noServer: true, maxPayload: maxMessageBytes });
  if (!isDetached(server)) throw new TypeError("ws has opened its own server");
  return {
    options: { upgrade: upgradeWebSocket, closing },
    server,
    cut() {
      for (const client of server.clients) client.terminate();
    },
  };
}

/** Has no HTTP server, as the adapter requires. The types of `ws` do not tell. */
function isDetached(server: WebSocketServer): server is WebSocketServer & WebSocketServerLike {
  return server.options.noServer === true;
}
