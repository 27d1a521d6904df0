/** An HTTP server on loopback whose bytes and failures are controlled by a test: an engine as seen from outside. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { listenAnywhere } from "./listen.ts";

export interface FakeUpstream {
  /** `http://127.0.0.1:port`. */
  readonly url: string;
  /** The requests so far, oldest first. */
  readonly exchanges: readonly FakeExchange[];
  /** Connections made so far: two requests over one connection count once. */
  readonly connections: number;
  /** Sets the handler from now on. Each exchange is one request. */
  handle(handler: (exchange: FakeExchange) => void | Promise<void>): void;
  close(): Promise<void>;
}

export interface FakeExchange {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
  /** Resolves when the client's socket closes, or the response has ended. */
  readonly closed: Promise<void>;
  /** Sends status and headers at once; by default the headers of a server-sent event stream. */
  begin(status?: number, headers?: Record<string, string>): void;
  /** One HTTP chunk, in one packet as far as the system allows. */
  write(bytes: string | Uint8Array): void;
  /** Like `write`; resolves when there is demand for more. */
  writeWhenRead(bytes: string | Uint8Array): Promise<void>;
  end(bytes?: string): void;
  /** Sends a whole response at once. */
  reply(status: number, body: string, headers?: Record<string, string>): void;
  /** Cuts the connection without ending the response. */
  destroy(): void;
}

const SSE_HEADERS = { "content-type": "text/event-stream" };
const JSON_HEADERS = { "content-type": "application/json" };

export async function startFakeUpstream(
  handler: (exchange: FakeExchange) => void | Promise<void> = (exchange) =>
    exchange.reply(500, "no handler"),
): Promise<FakeUpstream> {
  const exchanges: FakeExchange[] = [];
  let connections = 0;
  let current = handler;

  const server = createServer((request, response) => {
    void (async () => {
      const exchange = toExchange(request, response, await text(request));
      exchanges.push(exchange);
      await current(exchange);
    })();
  });
  server.on("connection", () => (connections += 1));
  const port = await listenAnywhere(server);

  return {
    url: `http://127.0.0.1:${port}`,
    exchanges,
    get connections() {
      return connections;
    },
    handle(next) {
      current = next;
    },
    async close() {
      server.closeAllConnections();
      await server[Symbol.asyncDispose]();
    },
  };
}

function toExchange(
  request: IncomingMessage,
  response: ServerResponse,
  body: string,
): FakeExchange {
  // The client may disconnect during a write: some tests do that on purpose.
  response.on("error", () => {});
  const closed = new Promise<void>((resolve) => {
    response.on("close", resolve);
  });
  const begin = (status = 200, headers: Record<string, string> = SSE_HEADERS): void => {
    response.writeHead(status, headers);
    response.flushHeaders();
  };
  return {
    method: request.method ?? "",
    path: request.url ?? "",
    headers: request.headers,
    body,
    closed,
    begin,
    write: (bytes) => void response.write(bytes),
    writeWhenRead: (bytes) =>
      new Promise((resolve) => {
        if (response.write(bytes)) resolve();
        else response.once("drain", resolve);
      }),
    end: (bytes) => void response.end(bytes),
    reply(status, answer, headers = JSON_HEADERS) {
      begin(status, headers);
      response.end(answer);
    },
    destroy: () => void request.socket.destroy(),
  };
}
