/** The gateway as a handler of `node:http`, and so of Express and Fastify. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { getRequestListener } from "@hono/node-server";

/**
 * Reads the body itself: mount it before anything that parses bodies.
 *
 * @param gateway of `createGateway`.
 */
export function toNodeHandler(gateway: {
  readonly fetch: (request: Request) => Promise<Response>;
}): (request: IncomingMessage, response: ServerResponse) => void {
  const listener = getRequestListener((request) => gateway.fetch(toNative(request)), {
    overrideGlobalObjects: false,
  });
  return (request, response) => void listener(request, response);
}

/** The adapter's request is an object of its own, which `new Request` of an application does not take. */
function toNative({ url, method, headers, signal, body }: Request): Request {
  const init = { method, headers, signal };
  return new Request(url, body === null ? init : { ...init, body, duplex: "half" });
}
