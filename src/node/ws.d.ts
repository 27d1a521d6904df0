/** The little of `ws` that is used; the package comes without types. */
declare module "ws" {
  import type { WebSocketLike, WebSocketServerLike } from "@hono/node-server";

  interface ServerSocket extends WebSocketLike {
    /** Ends the connection without a closing handshake. */
    terminate(): void;
  }

  interface WebSocketServer extends WebSocketServerLike {
    readonly clients: ReadonlySet<ServerSocket>;
  }

  const WebSocketServer: new (options: {
    readonly noServer: true;
    /** Bytes of the longest message; a longer one ends its connection. */
    readonly maxPayload: number;
  }) => WebSocketServer;
}
