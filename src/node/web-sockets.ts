/** WebSockets on Node, by the package `ws`. It is optional: without it the gateway serves everything else. */
import { upgradeWebSocket, type WebSocketServerLike } from "@hono/node-server";
import type { SocketOptions } from "../api/responses/socket-route.ts";

export interface WebSockets {
  /** For the application. */
  readonly options: SocketOptions;
  /** For the HTTP server. */
  readonly server: WebSocketServerLike;
  /** Lets connections end with the response that is under way. */
  finish(): void;
  /** Ends them at once. */
  cut(): void;
}

/** Undefined when `ws` is not installed. */
export async function openWebSockets(maxMessageBytes: number): Promise<WebSockets | undefined> {
  const ws = await import("ws").catch(() => undefined);
  if (ws === undefined) return undefined;
  const server = new ws.WebSocketServer({ noServer: true, maxPayload: maxMessageBytes });
  const closing = new AbortController();
  return {
    options: { upgrade: upgradeWebSocket, closing: closing.signal },
    server,
    finish: () => closing.abort(),
    cut() {
      for (const client of server.clients) client.terminate();
    },
  };
}
