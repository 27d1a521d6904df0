import { once } from "node:events";
import { createServer, type Server } from "node:net";

/** Listens on a free port of this machine, and returns it. */
export async function listenAnywhere(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("the server has no port");
  return address.port;
}

/**
 * A port that nothing listens on. The system assigns ports from 32768 on to programs that request any, so a lower port
 * is still free when a program that takes seconds to start binds it. Each test process has a separate range.
 */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < PORTS; tries++) {
    const port = FIRST_PORT + (process.pid % RANGES) * PORTS + (next++ % PORTS);
    const server = createServer();
    server.listen(port, "127.0.0.1");
    try {
      await once(server, "listening");
    } catch {
      continue;
    }
    server.close();
    await once(server, "close");
    return port;
  }
  throw new Error("no port is free");
}

const FIRST_PORT = 12_000;
const PORTS = 100;
const RANGES = 200;
let next = 0;
