/**
 * Checks that need the raw request: the name in `Host`, dot segments in the path as sent, and upgrades the gateway does not
 * offer.
 */
import type { EventEmitter } from "node:events";
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { HonoRequest } from "hono/request";
import { toErrorResponse } from "../../api/reply/error-response.ts";
import { RequestError } from "../../api/errors.ts";
import { errorEnvelopeFor } from "../../app.ts";
import type { FetchHandler } from "./direct-sse.ts";
import { randomId } from "../random-id.ts";

/**
 * Dot segments are refused: a proxy that only allows `/v1` would forward `/v1/%2e%2e/metrics`, which the gateway resolves to
 * `/metrics`. `%5c` is a backslash, which URL parsers treat as a slash.
 */
const DOT_SEGMENT = /(?:[/\\]|%5c)(?:\.|%2e){1,2}(?:[/\\?#]|%5c|$)/i;

export function refuseMalformed(handler: FetchHandler): FetchHandler {
  return (request, env) => {
    const { url: target = "", headers } = env.incoming;
    const query = target.indexOf("?");
    const path = query < 0 ? target : target.slice(0, query);
    if (DOT_SEGMENT.test(path)) {
      const before = path.slice(0, path.search(DOT_SEGMENT));
      return refuse(
        "The path of a request must not contain `.` or `..` segments, encoded or not. Send the path without them.",
        { path: before, headers: request.headers },
      );
    }
    if (hasValidHost(headers.host)) return handler(request, env);
    return refuse(INVALID_HOST, { path, headers: request.headers });
  };
}

const INVALID_HOST =
  "The header Host does not name a host. Send the name or the IP address of the gateway, and its port.";

/**
 * The adapter accepts a host such as `256.1.1.1` or `a.09` by its characters, and fails later: URL parsers take a name that ends
 * in a number for an IPv4 address. The adapter itself refuses hosts with other characters.
 */
function hasValidHost(host: string | undefined): boolean {
  return host === undefined || URL.canParse(`http://${host}/`);
}

/**
 * Refuses a request. The leading part of the path and the headers determine the client's API, and thus the envelope of the error.
 */
function refuse(
  message: string,
  { path, headers }: { readonly path: string; readonly headers: Headers },
): Response {
  const asked = new HonoRequest(new Request("http://localhost/", { headers }), path);
  const id = `req_${randomId()}`;
  return toErrorResponse(new RequestError(message), errorEnvelopeFor(asked), { id, path });
}

/**
 * Any other upgrade is ignored, as HTTP allows, and the request is answered over HTTP/1.1. Java's client and
 * `curl --http2` ask for `h2c` with their first request.
 */
export function isWebSocketUpgrade(
  { headers, url = "" }: IncomingMessage,
  paths: ReadonlySet<string>,
): boolean {
  if (headers.upgrade?.toLowerCase() !== "websocket") return false;
  // The adapter answers 500 where the URL of an upgrade is invalid.
  if (!hasValidHost(headers.host)) return false;
  const query = url.indexOf("?");
  return paths.has(query < 0 ? url : url.slice(0, query));
}

/**
 * Node before 24.9 passes every upgrade to the listener and ignores `shouldUpgradeCallback`. The adapter would leave unknown
 * upgrades unanswered, so they are refused here.
 */
export function refuseOtherUpgrades(server: EventEmitter, paths: ReadonlySet<string>): void {
  const [listener, ...others] = server.listeners("upgrade");
  if (listener === undefined || others.length > 0 || "shouldUpgradeCallback" in server) return;
  server.removeAllListeners("upgrade");
  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    if (isWebSocketUpgrade(request, paths)) listener.call(server, request, socket, head);
    // Destroyed, because the client could hold its side of the connection open.
    else socket.end(REFUSAL, () => socket.destroy());
  });
}

const REFUSAL =
  "HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-type: text/plain\r\n\r\n" +
  "The gateway does not offer this upgrade. Repeat the request without the Upgrade header.\n";
