/** The gateway as a handler for `node:http`, Express and Fastify. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { getRequestListener } from "@hono/node-server";

/**
 * The handler reads the body itself: mount it before any body parser.
 *
 * @param gateway result of `createGateway`.
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
    // The adapter uses the bytes that some parsers keep as `rawBody`.
    const isRead = request.readableDidRead && !("rawBody" in request);
    void (isRead ? listenerOfRead : listener)(request, response);
  };
}

/** A request whose body was read before the handler: `bodyUsed` is true, as with `fetch`. */
function toRead({ url, method, headers }: Request): Request {
  const hasBody = method !== "GET" && method !== "HEAD";
  const request = new Request(url, { method, headers, ...(hasBody && { body: "read" }) });
  void request.text();
  return request;
}

/** Converts the adapter's request, which an application's `new Request` does not accept. */
function toNative({ url, method, headers, signal, body }: Request): Request {
  const init = { method, headers, signal };
  return new Request(url, body === null ? init : { ...init, body, duplex: "half" });
}
