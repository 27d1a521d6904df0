/** A port, and leaving it in order. */
import { createServer, type Server } from "node:http";
import { getRequestListener } from "@hono/node-server";

export interface ListenOptions {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
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

type Handler = Parameters<typeof getRequestListener>[0];

/** Rejects with Node's error (`EADDRINUSE`, `EACCES`, …) when the port cannot be had. */
export async function listen(handler: Handler, options: ListenOptions): Promise<Listening> {
  const listener = getRequestListener(handler);
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS }, (incoming, outgoing) => {
    void listener(incoming, outgoing);
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port, options.host, () => {
      server.off("error", reject);
      resolve();
    });
  });
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : options.port;
  return { port, close: (graceMs) => drain(server, graceMs) };
}

async function drain(server: Server, graceMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
  // Connections kept alive become idle one by one, as their answers end.
  const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS);
  const cut = setTimeout(() => server.closeAllConnections(), graceMs);
  await closed;
  clearInterval(sweep);
  clearTimeout(cut);
}
