/** Chooses the HTTP client for engines: our own for plain `http:` URLs, undici for everything else. */
import { channel } from "node:diagnostics_channel";

import type { Settings } from "../config/settings.ts";
import { createFetchTransport } from "../engines/fetch-transport.ts";
import type { Transport, TransportRequest } from "../engines/transport.ts";
import { Exchange } from "./exchange.ts";
import { HttpClient } from "./http-client.ts";
import { createUndiciTransport } from "./undici-transport.ts";

/** Instrumentation of undici subscribes to this, to trace requests and to add headers to them. */
const instrumentation = channel("undici:request:create");
/** Headers that say how a message is sent. */
const FRAMING = /^(?:host|connection|content-length|transfer-encoding|keep-alive|upgrade|expect)$/i;
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const ASCII = /^[\t\x20-\x7e]*$/;

export interface EngineTransport extends Transport {
  /** Closes all connections. Requests in flight fail. */
  destroy(): Promise<void>;
}

export function createEngineTransport(client: Settings["engineHttp"]): EngineTransport {
  // Bun replaces undici with its own module, which has `fetch` but no dispatcher.
  if (process.versions["bun"] !== undefined) {
    return Object.assign(createFetchTransport(), { destroy: async () => {} });
  }
  // Deno's sockets are not Node's: a read buffer of one's own is untested there.
  const isNode = process.versions["deno"] === undefined;
  return client === "own" && isNode ? createOwnTransport() : createUndiciTransport();
}

function createOwnTransport(): EngineTransport {
  const client = new HttpClient();
  const undici = createUndiciTransport();
  const transport: Transport = async (request) => {
    if (!isPlain(request)) return undici(request);
    const exchange = new Exchange(request, true);
    return exchange.start(() => client.dispatch(request, exchange));
  };
  return Object.assign(transport, {
    destroy: async () => void (await Promise.all([client.destroy(), undici.destroy()])),
  });
}

/** Whether our client sends the request as undici would. */
function isPlain({ method, url, headers, body }: TransportRequest): boolean {
  if (!url.startsWith("http://") || instrumentation.hasSubscribers) return false;
  if (method === "GET" && body !== undefined) return false;
  return arePlain(headers);
}

/** The same headers go with every request to a server. */
const plain = new WeakMap<TransportRequest["headers"], boolean>();

function arePlain(headers: TransportRequest["headers"]): boolean {
  const known = plain.get(headers);
  if (known !== undefined) return known;
  const are = Object.entries(headers).every(
    ([name, value]) => NAME.test(name) && !FRAMING.test(name) && ASCII.test(value),
  );
  plain.set(headers, are);
  return are;
}
