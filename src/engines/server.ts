/** An inference server reached over HTTP: sends requests and pumps the answers through their decoder. */
import {
  andThen,
  type Consumer,
  createPushStream,
  type Demand,
  type PushStream,
} from "../streams/push-stream.ts";
import { type Clock, systemClock, withTimeout } from "./clock.ts";
import { CompletionDecoder, type CompletionReader } from "./completion-decoder.ts";
import { EngineError } from "./engine-error.ts";
import type { EngineEvent } from "./engine.ts";
import { createFetchTransport } from "./fetch-transport.ts";
import {
  expectHealthy,
  expectStream,
  readAnswer,
  type ServerIdentity,
  toSecrets,
  toServerError,
} from "./server-response.ts";
import type { ServerErrorBody } from "./server-errors.ts";
import { readServerUrl, toPublicUrl } from "./server-url.ts";
import { createSseSplitter, type Splitter } from "./sse.ts";
import type { RequestBody, Transport, TransportResponse } from "./transport.ts";
import * as z from "zod";

/** Options of every engine that is reached over HTTP. */
export interface ServerOptions {
  /** The server's URL, `http://127.0.0.1:8000`. It may contain credentials, `user:password@`. */
  readonly url: string;
  /** The model's name at the server. */
  readonly model: string;
  /** The key, sent as a bearer token. */
  readonly apiKey?: string;
  /** Additional headers for every request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Additional fields for every completion, by the server's names; they override ours. */
  readonly extraBody?: Readonly<Record<string, unknown>>;
  readonly transport?: Transport;
  /** Timeout of establishing a connection, in milliseconds. */
  readonly connectTimeoutMs?: number;
  readonly clock?: Clock;
}

const CONNECT_TIMEOUT_MS = 10_000;
/** Timeout of a query, which samples nothing, from the request to the end of the answer. */
const QUERY_TIMEOUT_MS = 15_000;

export interface Server {
  /** `vllm at http://127.0.0.1:8000`: the subject of every error message. */
  readonly name: string;
  /** The JSON answer to a query. Undefined if the server does not know the path. */
  get(path: string, signal: AbortSignal): Promise<unknown>;
  /** Like {@link get}, with a JSON body. */
  post(path: string, body: string, signal: AbortSignal): Promise<unknown>;
  /**
   * Health check. Throws an {@link EngineError} if the server cannot be reached or answers with an error; `not-found` if it does not
   * know the path.
   */
  check(path: string, signal: AbortSignal): Promise<void>;
  /** Runs one completion; see {@link Engine.complete} for its events and for the closing of the connection. */
  complete(call: CompletionCall, signal: AbortSignal): PushStream<EngineEvent>;
  /** Converts an error that the server reported inside a stream. */
  toError(serverError: ServerErrorBody): EngineError;
}

export interface CompletionCall {
  readonly path: string;
  readonly body: RequestBody;
  readonly reader: CompletionReader;
  /** Additional headers, which do not replace the server's common ones. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Cuts the bytes into events. Default: server-sent events. */
  readonly splitter?: Splitter;
  /**
   * The first event, not the status, shows whether the request was accepted: SGLang answers every stream with 200 and reports a
   * refusal in an event.
   */
  readonly openAtFirstEvent?: boolean;
}

/** Maximum wait for the end of the response after its last event, so that the connection can be reused. */
const END_GRACE_MS = 250;
/** Maximum wait for the usage after the finish: some servers never send `[DONE]` and keep the connection open. */
const USAGE_WAIT_MS = 1_000;

/**
 * Creates the server without a request.
 *
 * @param kind the kind of server, for error messages: `vllm`.
 * @throws {EngineError} `unreachable` if the URL is not an http URL.
 */
export function connectServer(kind: string, options: ServerOptions): Server {
  const { base, authorization } = readServerUrl(options.url, options.apiKey);
  const {
    transport = createFetchTransport(),
    clock = systemClock,
    connectTimeoutMs = CONNECT_TIMEOUT_MS,
  } = options;
  const headers = {
    // A compressed stream arrives in bursts.
    "accept-encoding": "identity",
    ...(authorization !== undefined && { authorization }),
    ...options.headers,
  };
  /** One object for all requests, which a transport recognizes. */
  const jsonHeaders = { ...headers, "content-type": "application/json" };
  const name = `${kind} at ${toPublicUrl(base)}`;
  const identity: ServerIdentity = { name, secrets: toSecrets(headers) };

  const get = (path: string, signal: AbortSignal): Promise<TransportResponse> =>
    transport({ method: "GET", url: base + path, headers, connectTimeoutMs, signal });

  const post = (
    path: string,
    body: RequestBody,
    signal: AbortSignal,
    more?: Readonly<Record<string, string>>,
  ): Promise<TransportResponse> =>
    transport({
      method: "POST",
      url: base + path,
      headers: more === undefined ? jsonHeaders : { ...more, ...jsonHeaders },
      body,
      connectTimeoutMs,
      signal,
    });

  const query = <T>(ask: (limited: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> =>
    withTimeout(ask, { ms: QUERY_TIMEOUT_MS, clock, subject: name }, signal);

  return {
    name,
    toError: (serverError) => toServerError(identity, serverError),
    get: (path, signal) =>
      query(async (limited) => readAnswer(identity, await get(path, limited)), signal),
    post: (path, body, signal) =>
      query(async (limited) => readAnswer(identity, await post(path, body, limited)), signal),
    check: (path, signal) =>
      query(async (limited) => expectHealthy(identity, path, await get(path, limited)), signal),
    complete({ path, body, headers: more, ...reading }, signal) {
      // The body is released once it is sent: a long prompt would be held as long as the answer lasts.
      let unsent: RequestBody = body;
      return createPushStream((consumer) => {
        const answered = post(path, unsent, signal, more);
        unsent = "";
        return answered.then((response) =>
          readCompletion(identity, response, reading, { signal, consumer, clock }),
        );
      });
    },
  };
}

interface CompletionDeps {
  readonly signal: AbortSignal;
  readonly consumer: Consumer<EngineEvent>;
  readonly clock: Clock;
}

/** Pumps a response through its decoder. Closes the response on every path. */
async function readCompletion(
  identity: ServerIdentity,
  response: TransportResponse,
  {
    reader,
    splitter = createSseSplitter(),
    openAtFirstEvent = false,
  }: Pick<CompletionCall, "reader" | "splitter" | "openAtFirstEvent">,
  { signal, consumer, clock }: CompletionDeps,
): Promise<void> {
  const serverName = identity.name;
  const decoder = new CompletionDecoder({ serverName, reader, splitter, openAtFirstEvent });
  let graceMs: number | undefined;
  let wanted = true;
  /** Settles when the consumer has accepted the last event: nothing more may be delivered before. */
  let hasRoom = Promise.resolve(true);
  /** Settles with the body, or when the usage is late. */
  const over = Promise.withResolvers<void>();
  let stopWaiting: (() => void) | undefined;
  let isAbandoned = false;

  const consumeBytes = (bytes: Uint8Array): Demand => {
    if (isAbandoned) return false;
    let more = decoder.push(bytes, consumer);
    if (typeof more === "boolean") wanted = more;
    else more = hasRoom = more.then((answer) => (wanted = answer));
    if (decoder.hasEnded()) return andThen(more, no);
    if (stopWaiting === undefined && decoder.finish() !== undefined) {
      stopWaiting = clock.after(USAGE_WAIT_MS, () => {
        isAbandoned = true;
        over.resolve();
      });
    }
    return more;
  };

  try {
    await expectStream(identity, response);
    if (!openAtFirstEvent && !(await consumer({ type: "open" }))) return;
    try {
      response.pump(consumeBytes).then(over.resolve, over.reject);
      await over.promise;
      await hasRoom;
    } catch (error) {
      // A connection that breaks after the finish loses at most the usage.
      if (signal.aborted || decoder.finish() === undefined) throw error;
    }
    if (!wanted) return;
    const failure = decoder.failure();
    if (failure !== undefined) throw failure;
    const finish = decoder.finish();
    if (finish === undefined) {
      throw new EngineError("closed", `${serverName} ended its answer without a finish reason.`);
    }
    // Set before the finish is delivered: the consumer may stop iterating there.
    if (!isAbandoned) graceMs = END_GRACE_MS;
    await consumer(finish);
  } finally {
    stopWaiting?.();
    response.close(graceMs);
  }
}

const no = (): boolean => false;

/** A server's own description, for the log. */
const answer = z.lazy(() => z.object({ version: z.string() }));

/** `vllm 0.14.1`, or the name alone if the server does not report its version. */
export async function describe(
  server: Server,
  name: string,
  path: string,
  signal: AbortSignal,
): Promise<string> {
  const found = answer.safeParse(await askOptional(server, path, signal));
  return withVersion(name, found.data?.version);
}

/** Maximum characters of a version in the log, as the server chooses the text. */
const MAX_VERSION_CHARS = 100;

export function withVersion(name: string, version: string | null | undefined): string {
  return version == null ? name : `${name} ${version.slice(0, MAX_VERSION_CHARS)}`;
}

/** The JSON answer to an optional query. Undefined if the server refuses or fails. */
export async function askOptional(
  server: Server,
  path: string,
  signal: AbortSignal,
): Promise<unknown> {
  try {
    return await server.get(path, signal);
  } catch (error) {
    if (error instanceof EngineError) return undefined;
    throw error;
  }
}
