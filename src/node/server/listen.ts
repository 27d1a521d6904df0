/** Listens on a port, and shuts the server down gracefully. */
import { createServer, Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { createAdaptorServer } from "@hono/node-server";
import type { SseBindings } from "../../api/reply/event-stream.ts";
import type { Shutdown } from "../../models/shutdown.ts";
import { writeFramesDirectly } from "./direct-sse.ts";
import { explainListenError } from "./listen-error.ts";
import { isWebSocketUpgrade, refuseMalformed, refuseOtherUpgrades } from "./raw-requests.ts";
import type { WebSockets } from "./web-sockets.ts";

interface ListenOptions {
  readonly host: string;
  /** Port number. 0: any free port. */
  readonly port: number;
  /** Flag named in messages. Absent: `--port`. */
  readonly portFlag?: string;
  /** Other processes may listen on the port too; the system distributes connections over all of them. Absent: false. */
  readonly reusePort?: boolean;
  readonly webSockets?: WebSockets | undefined;
  /** WebSocket support. Absent: none. */
  readonly webSocketPaths?: ReadonlySet<string>;
  /** Maximum time in which a client may leave sent data unread. */
  readonly clientIdleTimeoutMs: number;
  /** The shutdown that `close` starts and completes. */
  readonly shutdown: Shutdown;
}

interface Listening {
  readonly port: number;
  /**
   * Accepts no more connections and waits for in-flight requests and background work. Shortly before `graceMs` is over, the rest
   * is stopped, which leaves time to notify clients and the store; then connections are closed.
   */
  close(graceMs: number): Promise<void>;
}

/**
 * Longer than the 60 s for which common load balancers keep an idle connection. Otherwise they would sometimes send a
 * request on a connection that was just closed, and report a bad gateway.
 */
const KEEP_ALIVE_TIMEOUT_MS = 75_000;

/**
 * Maximum connections that wait to be accepted: as many as the system allows (Linux: `net.core.somaxconn`), instead of Node's
 * 511. libuv accepts one connection per iteration of its loop. Clients beyond the limit connect a second later or more, and are
 * reset after a minute.
 */
const BACKLOG = 65_535;

/** Part of the grace period, at most half, that is reserved for notifying clients and the store. */
const STOP_BEFORE_END_MS = 1000;

type Handler = Parameters<typeof createAdaptorServer>[0]["fetch"];

/** @throws ListenError */
export async function listen(handler: Handler, options: ListenOptions): Promise<Listening> {
  const { webSockets, webSocketPaths = new Set() } = options;
  const connections = createConnections(options.clientIdleTimeoutMs);
  const direct = writeFramesDirectly(refuseMalformed(handler));
  const server = createAdaptorServer({
    fetch: (request, env) => {
      if (env.outgoing !== undefined) return direct(request, env);
      // An upgrade has no response object: the connection belongs to the WebSocket now.
      const { socket } = env.incoming;
      connections.leaveTo(socket);
      return closeIfRefused(
        direct(request, Object.assign(env, { watchBytes: watchBytes(socket) })),
        socket,
      );
    },
    createServer,
    serverOptions: {
      keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
      ...(webSockets && {
        shouldUpgradeCallback: (request) => isWebSocketUpgrade(request, webSocketPaths),
      }),
    },
    ...(webSockets && { websocket: { server: webSockets.server } }),
  });
  if (!(server instanceof Server))
    throw new TypeError("the adapter created an unexpected kind of server");
  refuseOtherUpgrades(server, webSocketPaths);
  connections.watch(server);
  await new Promise<void>((resolve, reject) => {
    const { host, port, portFlag: flag = "--port", reusePort = false } = options;
    const fail = (error: Error) =>
      reject(explainListenError(error, { host, port, flag, reusePort }));
    server.once("error", fail);
    server.listen({ host, port, reusePort, backlog: BACKLOG }, () => {
      server.off("error", fail);
      resolve();
    });
  });
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : options.port;
  return {
    port,
    close: (graceMs) => drain(server, connections, options, graceMs),
  };
}

/** Closes the connection of a refused upgrade. The adapter ends only its own side: the client could hold the other side open. */
async function closeIfRefused<R>(response: R, socket: Socket): Promise<Awaited<R>> {
  const answer = await response;
  const isAccepted = answer instanceof Response && answer.ok;
  if (!isAccepted) socket.once("finish", () => socket.destroy());
  return answer;
}

/** The first listener starts the flow of bytes, so it waits until the WebSocket listens. */
function watchBytes(socket: Socket): Required<SseBindings>["watchBytes"] {
  return (listener) => void socket.on("data", (bytes: Buffer) => listener(bytes.length));
}

interface Connections {
  watch(server: Server): void;
  /** Stops tracking a connection that has become a WebSocket. */
  leaveTo(socket: Socket): void;
  /**
   * Closes each connection without a request in flight, from now on, even if part of a request's head has arrived. Answers that
   * have not begun announce the close: otherwise a proxy would send its next request on a connection that is about to be closed.
   */
  drain(): void;
}

/**
 * Tracks all connections and the number of in-flight requests on each. Clients and load balancers open some in advance, and some
 * send only part of a head: Node counts neither as idle, and a shutdown would wait for all of them.
 *
 * There is no listener for upgrades: with a second listener, the adapter no longer answers upgrades it refuses.
 */
function createConnections(clientIdleTimeoutMs: number): Connections {
  const connections = new Map<Socket, Connection>();
  let isDraining = false;

  function dropStalled(): void {
    for (const [socket, connection] of connections) {
      if (connection.requests > 0 && hasStalled(socket, connection)) socket.destroy();
    }
  }

  return {
    watch(server) {
      const looking = setInterval(dropStalled, clientIdleTimeoutMs / LOOKS).unref();
      server.on("close", () => clearInterval(looking));
      server.on("connection", (socket) => {
        connections.set(socket, { requests: 0, sent: 0, unreadLooks: 0 });
        // `once` would hold three more objects as long as the connection is open.
        socket.on("close", () => connections.delete(socket));
      });
      server.on("request", ({ socket }, response) => {
        const connection = connections.get(socket);
        if (connection === undefined) return;
        connection.requests += 1;
        connection.response = response;
        if (isDraining) response.shouldKeepAlive = false;
        response.on("close", () => {
          connection.requests -= 1;
          if (connection.requests > 0) return;
          connection.response = undefined;
          if (isDraining) socket.destroySoon();
        });
      });
    },
    leaveTo(socket) {
      connections.delete(socket);
      socket.setTimeout(0);
    },
    drain() {
      isDraining = true;
      for (const [socket, { requests, response }] of connections) {
        if (requests === 0) socket.destroySoon();
        else if (response?.headersSent === false) response.shouldKeepAlive = false;
      }
    },
  };
}

interface Connection extends ReadProgress {
  /** Number of requests in flight. */
  requests: number;
  /** Response to the latest request. */
  response?: ServerResponse | undefined;
}

async function drain(
  server: Server,
  connections: Connections,
  { webSockets, shutdown }: ListenOptions,
  graceMs: number,
): Promise<void> {
  shutdown.begin();
  const closed = new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
  connections.drain();
  const stopAfterMs = Math.max(graceMs - STOP_BEFORE_END_MS, graceMs / 2);
  const stop = setTimeout(() => shutdown.stop(), stopAfterMs);
  const graceOver = Promise.withResolvers<void>();
  const cut = setTimeout(() => {
    server.closeAllConnections();
    webSockets?.cut();
    graceOver.resolve();
  }, graceMs);
  await closed;
  await Promise.race([shutdown.idle(), graceOver.promise]);
  clearTimeout(stop);
  clearTimeout(cut);
}

/** Progress of a connected client. */
export interface ReadProgress {
  /** Bytes that had been sent at the last check. */
  sent: number;
  /** Consecutive checks at which data waited and none had been sent. */
  unreadLooks: number;
}

/** Checks without progress after which a client counts as stalled. */
export const LOOKS = 10;

/**
 * Returns whether the client has read nothing for {@link LOOKS} checks. Node's own timer of a socket restarts with each write,
 * again when its queue has shrunk, and costs each token some 560 instructions.
 */
export function hasStalled(socket: Socket, progress: ReadProgress): boolean {
  if (socket.writableLength === 0) {
    progress.unreadLooks = 0;
    return false;
  }
  const sent = countSent(socket);
  progress.unreadLooks = sent === progress.sent ? progress.unreadLooks + 1 : 0;
  progress.sent = sent;
  return progress.unreadLooks >= LOOKS;
}

/**
 * Bytes that the system has accepted. Only the socket's handle knows the remaining bytes of a partly accepted write; on other
 * runtimes than Node, such a write counts as unsent.
 */
function countSent(socket: Socket): number {
  const handle: unknown = Reflect.get(socket, "_handle");
  if (typeof handle === "object" && handle !== null && "bytesWritten" in handle) {
    const queued: unknown = Reflect.get(handle, "writeQueueSize");
    if (typeof queued === "number") return Number(handle.bytesWritten) - queued;
  }
  return socket.bytesWritten - socket.writableLength;
}
