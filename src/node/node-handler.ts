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
  const listenTo = (toRequest: (request: Request) => Request) =>
    getRequestListener((request) => gateway.fetch(toRequest(request)), {
      overrideGlobalObjects: false,
    });
  const listener = listenTo(toNative);
  const listenerOfRead = listenTo(toRead);
  return (request, response) => {
    // The adapter takes the bytes that some parsers leave behind as `rawBody`.
    const isRead = request.readableDidRead && !("rawBody" in request);
    void (isRead ? listenerOfRead : listener)(request, response);
  };
}

/** A request whose body was read before the handler: as `fetch` has it, its body is used. */
function toRead({ url, method, headers }: Request): Request {
  const hasBody = method !== "GET" && method !== "HEAD";
  const request = new Request(url, { method, headers, ...(hasBody && { body: "read" }) });
  void request.text();
  return request;
}

/** The adapter's request is an object of its own, which `new Request` of an application does not take. */
function toNative({ url, method, headers, signal, body }: Request): Request {
  const init = { method, headers, signal };
  return new Request(url, body === null ? init : { ...init, body, duplex: "half" });
}
