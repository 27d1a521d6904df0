/** `GET /v1/responses` as a WebSocket, on runtimes that support WebSockets. */
import { Hono } from "hono";
import type { WSContext } from "hono/ws";
import type { ApiEnv, Client } from "../request/client.ts";
import { RequestError } from "../errors.ts";
import type { WebSocketOptions } from "../api.ts";
import { isCodex } from "./to-client.ts";
import type { ResponsesContext } from "./context.ts";
import { getWaitUntil } from "./wait-until.ts";
import { SocketPort } from "./socket-port.ts";
import { SocketSession, type SocketCaller } from "./socket-session.ts";

/** Maximum lifetime of a connection, as at OpenAI. */
const MAX_CONNECTION_MS = 3_600_000;

export function socketRoute(context: ResponsesContext, options: WebSocketOptions): Hono<ApiEnv> {
  const { closing } = options;
  const app = new Hono<ApiEnv>();
  app.get(
    "/responses",
    async (c, next) => {
      if (isUpgrade(c.req.header("upgrade"))) context.sockets.check(c.get("client").tenant);
      await next();
    },
    options.upgrade((c) => {
      const client: Client = c.get("client");
      const requestId: string = c.get("requestId");
      const { headers } = c.req.raw;
      const fromCodex = isCodex((name) => c.req.header(name));
      const caller = { client, requestId, isCodex: fromCodex, headers };
      const waitUntil = getWaitUntil(c);
      // `env` is undefined where a test or a runtime passes none.
      const bindings: ApiEnv["Bindings"] | undefined = c.env;
      let connection: Connection | undefined;
      // The session is opened only after the socket, because a failed handshake would never release it. On runtimes
      // without an open event, the first message opens the session.
      const open = (socket: WSContext) => {
        if (connection === undefined) {
          const opened = openConnection(socket, caller, context, closing);
          bindings?.watchBytes?.((bytes) => opened.session.noteBytes(bytes));
          connection = opened;
        }
        return connection;
      };
      const leave = () => connection?.leave();
      return {
        onOpen: (_, socket) => void open(socket),
        onMessage({ data }, socket) {
          const message = typeof data === "string" ? data : undefined;
          waitUntil(open(socket).session.receive(message));
        },
        onClose: leave,
        onError: leave,
      };
    }),
    () => {
      const headers = { connection: "upgrade", upgrade: "websocket" };
      const message = "GET on this path opens a WebSocket. Send an upgrade request, or use POST.";
      const error = { message, type: "invalid_request_error", param: null, code: null };
      return Response.json({ error }, { status: 426, headers });
    },
  );
  return app;
}

const LIMIT = new RequestError("A connection may last 60 minutes. Open a new one.", {
  errorType: "websocket_connection_limit_reached",
});

function isUpgrade(header: string | undefined): boolean {
  return header?.toLowerCase() === "websocket";
}

interface Connection {
  readonly session: SocketSession;
  /** Releases all resources after the socket has closed. A second call has no effect. */
  leave(): void;
}

function openConnection(
  socket: WSContext,
  caller: SocketCaller,
  context: ResponsesContext,
  closing: AbortSignal | undefined,
): Connection {
  const port = new SocketPort(socket, {
    clientIdleTimeoutMs: context.clientIdleTimeoutMs,
    onStalled: () => session.leave(),
  });
  const session = new SocketSession(port, caller, context);
  const uncount = context.sockets.enter(caller.client.tenant);
  const timer = setTimeout(() => session.finish(LIMIT.message, LIMIT), MAX_CONNECTION_MS);
  const finish = () => {
    const isShutdown = context.shutdown.closing.aborted;
    session.finish(isShutdown ? "The server is shutting down." : "The gateway has new settings.");
  };
  if (closing?.aborted === true) finish();
  closing?.addEventListener("abort", finish);
  return {
    session,
    leave() {
      clearTimeout(timer);
      uncount();
      closing?.removeEventListener("abort", finish);
      session.leave();
    },
  };
}
