/** Checks that need the raw request: dot segments in the path as sent, and upgrades the gateway does not offer. */
import type { EventEmitter } from "node:events";
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { FetchHandler } from "./direct-sse.ts";

/**
 * `/v1/%2e%2e/metrics` is `/metrics` to whoever resolves it, and something below `/v1` to a proxy that lets only that
 * pass: such paths are refused. `%5c` is a backslash, which URLs take for a slash.
 */
const DOT_SEGMENT = /(?:[/\\]|%5c)(?:\.|%2e){1,2}(?:[/\\?#]|%5c|$)/i;

export function refuseDotSegments(handler: FetchHandler): FetchHandler {
  return (request, env) => {
    const target = env.incoming.url ?? "";
    const query = target.indexOf("?");
    const path = query < 0 ? target : target.slice(0, query);
    return DOT_SEGMENT.test(path) ? refuseDotSegment() : handler(request, env);
  };
}

function refuseDotSegment(): Response {
  const message = "The path of a request must not hold `.` or `..` segments, encoded or not.";
  const error = {
    code: 400,
    message,
    type: "invalid_request_error",
    param: null,
    metadata: { error_type: "invalid_request" },
  };
  return Response.json({ error }, { status: 400 });
}

/**
 * Every other upgrade is ignored, as HTTP allows, and the request answered over HTTP/1.1. Java's client and
 * `curl --http2` ask for `h2c` with each first request.
 */
export function isWebSocketUpgrade(
  { headers, url = "" }: IncomingMessage,
  paths: ReadonlySet<string>,
): boolean {
  if (headers.upgrade?.toLowerCase() !== "websocket") return false;
  const query = url.indexOf("?");
  return paths.has(query < 0 ? url : url.slice(0, query));
}

/**
 * For versions of Node that hand every upgrade to the listener, whatever `shouldUpgradeCallback` says (before 24.9): what
 * the adapter would leave unanswered is refused.
 */
export function refuseOtherUpgrades(server: EventEmitter, paths: ReadonlySet<string>): void {
  const [take, ...others] = server.listeners("upgrade");
  if (take === undefined || others.length > 0 || "shouldUpgradeCallback" in server) return;
  server.removeAllListeners("upgrade");
  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    if (isWebSocketUpgrade(request, paths)) take.call(server, request, socket, head);
    else socket.end(REFUSAL);
  });
}

const REFUSAL =
  "HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-type: text/plain\r\n\r\n" +
  "This upgrade is not offered here. Ask again without the Upgrade header.\n";
