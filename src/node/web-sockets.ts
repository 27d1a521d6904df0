/** WebSockets on Node, by the package `ws`. It is optional: without it the gateway serves everything else. */
import { upgradeWebSocket, type WebSocketServerLike } from "@hono/node-server";
import type { WebSocketOptions } from "../api/web-sockets.ts";

export interface WebSockets {
  /** For the application. */
  readonly options: WebSocketOptions;
  /** For the HTTP server. */
  readonly server: WebSocketServerLike;
  /** Ends all connections at once. */
  cut(): void;
}

/** Undefined when `ws` is not installed. After `closing`, connections end with their in-flight response. */
export async function openWebSockets(
  maxMessageBytes: number,
  closing: AbortSignal,
): Promise<WebSockets | undefined> {
  const ws = await import("ws").catch(() => undefined);
  if (ws === undefined) return undefined;
  const server = new ws.WebSocketServer({ noServer: true, maxPayload: maxMessageBytes });
  return {
    options: { upgrade: upgradeWebSocket, closing },
    server,
    cut() {
      for (const client of server.clients) client.terminate();
    },
  };
}
