/**
 * Requests pages from public addresses only. The name is resolved here, all its addresses are checked, and the connection is made
 * to one of the checked addresses: a name that resolves differently the next time (DNS rebinding) has no effect.
 */
import { lookup as resolveName } from "node:dns/promises";
import type { LookupFunction } from "node:net";
import { Readable } from "node:stream";
import type { Agent, Dispatcher } from "undici";
import { lazy } from "../lazy.ts";
import { isPublicAddress } from "../tools/browser/addresses.ts";
import { PAGE_HEADERS, type RequestPage } from "../tools/browser/fetch-page.ts";
import { FetchRefused } from "../tools/browser/url-policy.ts";

export interface SafeRequestOptions {
  /** Resolves a name to all its addresses. */
  readonly resolve?: (host: string) => Promise<readonly ResolvedAddress[]>;
  /** Checks an address. Replaced in tests, whose servers are on loopback. */
  readonly isPublic?: (address: string) => boolean;
}

export interface ResolvedAddress {
  readonly address: string;
  readonly family: number;
}

export interface SafeRequest {
  readonly requestPage: RequestPage;
  close(): Promise<void>;
}

const CONNECT_TIMEOUT_MS = 10_000;

export function createSafeRequest(options: SafeRequestOptions = {}): SafeRequest {
  const client = createClient(options);
  return {
    async requestPage(url, signal) {
      const response = await client.request(url, { headers: PAGE_HEADERS, signal });
      const { body, headers } = response;
      // Without a listener, an error after the last read would be an uncaught exception.
      body.on("error", () => undefined);
      return {
        status: response.statusCode,
        header: (name) => {
          const value = headers[name];
          return (Array.isArray(value) ? value[0] : value) ?? null;
        },
        body,
        cancel: () => void body.destroy(),
      };
    },
    close: () => client.close(),
  };
}

/**
 * Like `fetch`, for text bodies, with the same protection. Redirects are not followed. Names are checked, but URLs are not: the
 * caller must refuse an address in a URL.
 */
export function createSafeFetch(options: SafeRequestOptions = {}) {
  const client = createClient(options);
  return async (url: string | URL, init: RequestInit = {}): Promise<Response> => {
    const { method = "GET", headers, body = null, signal = null } = init;
    if (body !== null && typeof body !== "string") throw new TypeError("a body is a text here");
    const given = Object.fromEntries(new Headers(headers));
    return toResponse(await client.request(url, { method, headers: given, body, signal }));
  };
}

type RequestOptions = Omit<Dispatcher.RequestOptions, "origin" | "path" | "method"> & {
  readonly method?: string;
};

/** Loads undici with the first request: it is a third of the command's code, and most gateways do not need it. */
function createClient(options: SafeRequestOptions) {
  let wasUsed = false;
  const open = lazy(async () => {
    wasUsed = true;
    // The default export is used: a bundle has no names of a CommonJS package.
    const { Agent, request } = (await import("undici")).default;
    return { agent: new Agent(toAgentOptions(options)), request };
  });
  return {
    async request(url: string | URL, given: RequestOptions): Promise<Dispatcher.ResponseData> {
      const { agent, request } = await open();
      return request(url, { ...given, dispatcher: agent }).catch((error: unknown) => {
        throw toFetchError(error);
      });
    },
    async close(): Promise<void> {
      if (wasUsed) await (await open()).agent.close();
    },
  };
}

/** Connects to public addresses only. */
function toAgentOptions({
  isPublic = isPublicAddress,
  resolve = resolveAll,
}: SafeRequestOptions): Agent.Options {
  const findAddresses = async (host: string): Promise<readonly ResolvedAddress[]> => {
    const addresses = await resolve(host);
    // One private address among public ones is an attack, or a mistake that looks like one.
    if (addresses.every(({ address }) => isPublic(address))) return addresses;
    throw new FetchRefused("this address is not public");
  };
  const lookup: LookupFunction = (host, { all }, callback) => {
    void answerLookup(findAddresses(host), all ?? false, callback);
  };
  return {
    connect: { lookup, timeout: CONNECT_TIMEOUT_MS },
    // Pages come from many servers, a few from each: open connections are rarely reused.
    keepAliveTimeout: 1000,
    maxResponseSize: -1,
  };
}

function toResponse({ statusCode: status, headers, body }: Dispatcher.ResponseData): Response {
  // Without a listener, an error after the last read would be an uncaught exception.
  body.on("error", () => undefined);
  const copied = new Headers();
  for (const [name, value] of Object.entries(headers)) {
    for (const each of [value ?? []].flat()) copied.append(name, each);
  }
  if (status === 204 || status === 205 || status === 304) {
    body.destroy();
    return new Response(null, { status, headers: copied });
  }
  return new Response(Readable.toWeb(body), { status, headers: copied });
}

/** Returns the addresses to Node, in the requested form. */
async function answerLookup(
  resolving: Promise<readonly ResolvedAddress[]>,
  all: boolean,
  done: Parameters<LookupFunction>[2],
): Promise<void> {
  try {
    const addresses = await resolving;
    const [first] = addresses;
    if (first === undefined) done(new Error("not found"), "");
    else if (all) done(null, [...addresses]);
    else done(null, first.address, first.family);
  } catch (error) {
    done(error instanceof FetchRefused ? error : new Error("not found"), "");
  }
}

async function resolveAll(host: string): Promise<readonly ResolvedAddress[]> {
  return resolveName(host, { all: true, verbatim: true });
}

/** Node's messages about failed connections contain addresses of the internal network; these do not. */
function toFetchError(error: unknown): unknown {
  if (error instanceof FetchRefused) return error;
  if (error instanceof Error && (error.name === "AbortError" || error.name === "TimeoutError")) {
    return error;
  }
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  return new FetchRefused(
    code === "UND_ERR_CONNECT_TIMEOUT" ? "timeout" : "the server could not be reached",
  );
}
