/** What a runtime with WebSockets hands to the APIs that serve them. */
import type { UpgradeWebSocket } from "hono/ws";

export interface WebSocketOptions {
  /** The runtime's way of turning a request into a WebSocket. */
  // oxlint-disable-next-line typescript/no-explicit-any -- each runtime has a socket of its own
  readonly upgrade: UpgradeWebSocket<any>;
  /** Aborted when the server shuts down: connections end with the response that is in flight. */
  readonly closing?: AbortSignal;
}
