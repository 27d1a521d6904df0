/** `GET /v1/responses` as a WebSocket, on runtimes that have them. */
import { Hono } from "hono";
import type { WSContext } from "hono/ws";
import { sleep } from "../../streams/timers.ts";
import type { ApiEnv, Client } from "../client.ts";
import { RequestError } from "../errors.ts";
import type { WebSocketOptions } from "../web-sockets.ts";
import { isCodex } from "./codex.ts";
import type { ResponsesContext } from "./context.ts";
import { waitUntil } from "./wait-until.ts";
import type { SocketPort } from "./socket-port.ts";
import { createSocketSession, type SocketSession } from "./socket-session.ts";

/** How long a connection may last: as long as OpenAI's. */
const MAX_CONNECTION_MS = 3_600_000;

/** Buffered bytes for a slow client above which reading from the engine pauses. */
const MAX_BUFFERED_BYTES = 1_048_576;

/** How often the buffer of a slow client is checked. */
const DRAIN_POLL_MS = 10;

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
      let session: SocketSession | undefined;
      let leaveCount: (() => void) | undefined;
      const timer = setTimeout(() => session?.finish(LIMIT.message, LIMIT), MAX_CONNECTION_MS);
      const finish = () => session?.finish("The server is shutting down.");
      closing?.addEventListener("abort", finish);

      // Some runtimes have no open event: the first message opens the session.
      const open = (socket: WSContext) => {
        const port = toPort(socket, context.clientIdleTimeoutMs, () => session?.leave());
        if (session === undefined) leaveCount = context.sockets.enter(client.tenant);
        session ??= createSocketSession(port, caller, context);
        return session;
      };
      const leave = () => {
        clearTimeout(timer);
        leaveCount?.();
        closing?.removeEventListener("abort", finish);
        session?.leave();
      };
      return {
        onOpen: (_, socket) => void open(socket),
        onMessage({ data }, socket) {
          const message = typeof data === "string" ? data : undefined;
          waitUntil(c, open(socket).receive(message));
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

const OPEN = 1;

/** `onStalled`: the client has read nothing for the idle timeout, and the connection was terminated. */
function toPort(socket: WSContext, clientIdleTimeoutMs: number, onStalled: () => void): SocketPort {
  const isOpen = () => socket.readyState === OPEN;
  return {
    async send(message) {
      if (!isOpen()) return;
      socket.send(message);
      let before = bufferedBytes(socket);
      let unreadMs = 0;
      while (isOpen() && bufferedBytes(socket) > MAX_BUFFERED_BYTES) {
        await sleep(DRAIN_POLL_MS);
        const now = bufferedBytes(socket);
        unreadMs = now === before ? unreadMs + DRAIN_POLL_MS : 0;
        before = now;
        if (unreadMs < clientIdleTimeoutMs) continue;
        onStalled();
        // A closing handshake would wait behind the unread data.
        callRaw(socket, "terminate");
        return;
      }
    },
    pause: () => callRaw(socket, "pause"),
    resume: () => callRaw(socket, "resume"),
    close: (code, reason) => socket.close(code, reason),
  };
}

/** What only Node's sockets can do. */
function callRaw({ raw }: WSContext, name: "pause" | "resume" | "terminate"): void {
  if (typeof raw !== "object" || raw === null) return;
  const method: unknown = Reflect.get(raw, name);
  if (typeof method === "function") Reflect.apply(method, raw, []);
}

/** 0 where the runtime does not report it. */
function bufferedBytes({ raw }: WSContext): number {
  const isSocket = typeof raw === "object" && raw !== null && "bufferedAmount" in raw;
  return isSocket ? Number(raw.bufferedAmount) : 0;
}
