/** The interface of a runtime with WebSockets for the APIs that serve them. */
import type { UpgradeWebSocket } from "hono/ws";

export interface WebSocketOptions {
  /** The runtime's function that turns a request into a WebSocket. */
  // oxlint-disable-next-line typescript/no-explicit-any -- each runtime has its own type of socket
  readonly upgrade: UpgradeWebSocket<any>;
  /**
   * Aborted when the server shuts down or has new settings: each connection closes after its in-flight response. The next
   * one is authenticated anew.
   */
  readonly closing?: AbortSignal;
}
