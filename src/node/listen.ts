/** A port, and leaving it in order. */
import { createServer, Server } from "node:http";
import type { Socket } from "node:net";
import { createAdaptorServer } from "@hono/node-server";
import { writeFramesDirectly } from "./direct-sse.ts";
import type { WebSockets } from "./web-sockets.ts";

export interface ListenOptions {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  readonly webSockets?: WebSockets | undefined;
}

export interface Listening {
  readonly port: number;
  /**
   * Takes no more connections, lets answers under way end, and after `graceMs` cuts those that have
   * not: which aborts their turns, and with them the engine's work.
   */
  close(graceMs: number): Promise<void>;
}

/**
 * Longer than the 60 s that common load balancers keep an idle connection: were it shorter, they would
 * now and then send a request into a connection we have just closed, and report a bad gateway.
 */
const KEEP_ALIVE_TIMEOUT_MS = 75_000;

/** How often idle connections are looked for while leaving. */
const SWEEP_MS = 50;

/** The port cannot be had. The message says what to do. */
export class ListenError extends Error {
  constructor(message: string, cause: unknown) {
    super(message, { cause });
    this.name = "ListenError";
  }
}

type Handler = Parameters<typeof createAdaptorServer>[0]["fetch"];

/** @throws ListenError */
export async function listen(handler: Handler, options: ListenOptions): Promise<Listening> {
  const { webSockets } = options;
  const server = createAdaptorServer({
    fetch: writeFramesDirectly(handler),
    createServer,
    serverOptions: { keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS },
    ...(webSockets && { websocket: { server: webSockets.server } }),
  });
  if (!(server instanceof Server)) throw new TypeError("the adapter made another kind of server");
  const sockets = watchConnections(server);
  await new Promise<void>((resolve, reject) => {
    const fail = (error: Error) => reject(explain(error, options));
    server.once("error", fail);
    server.listen(options.port, options.host, () => {
      server.off("error", fail);
      resolve();
    });
  });
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : options.port;
  return {
    port,
    close(graceMs) {
      for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
      return drain(server, webSockets, graceMs);
    },
  };
}

/**
 * All connections. Clients and load balancers open some ahead of need, and Node does not count those among the idle
 * ones: leaving would wait for each of them. (No listener for requests and upgrades tells them apart: the adapter
 * leaves a refused upgrade to others as soon as there is another listener.)
 */
function watchConnections(server: Server): ReadonlySet<Socket> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  return sockets;
}

function explain(error: Error, { host, port }: ListenOptions): Error {
  const where = `port ${port} of ${host}`;
  switch ("code" in error && error.code) {
    case "EADDRINUSE":
      return new ListenError(`Another program uses ${where}. Choose another with --port.`, error);
    case "EACCES":
      return new ListenError(`${where} may not be listened at. Choose another with --port.`, error);
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
      return new ListenError(`${host} is no address of this machine.`, error);
    default:
      return error;
  }
}

async function drain(
  server: Server,
  webSockets: WebSockets | undefined,
  graceMs: number,
): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
  // Connections kept alive become idle one by one, as their answers end.
  const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS);
  webSockets?.finish();
  const cut = setTimeout(() => {
    server.closeAllConnections();
    webSockets?.cut();
  }, graceMs);
  await closed;
  clearInterval(sweep);
  clearTimeout(cut);
}
