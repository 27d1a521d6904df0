/** The server behind an engine, reached over HTTP: its URL, its key, and how a completion is read from it. */
import {
  andThen,
  createPushStream,
  type PushStream,
  type Demand,
  type Consumer,
} from "../streams/push-stream.ts";
import { type Clock, systemClock } from "./clock.ts";
import { EngineError } from "./engine-error.ts";
import { redact, toSecrets } from "./redact.ts";
import type { EngineEvent, EngineFinish, EngineTokens } from "./engine.ts";
import { createFetchTransport } from "./fetch-transport.ts";
import {
  type ServerErrorBody,
  findServerError,
  readServerError,
  readRetryAfter,
  toEngineError,
} from "./server-errors.ts";
import { createSseSplitter, type Splitter } from "./sse.ts";
import { type Timeouts, toPublicUrl, type Transport, type TransportResponse } from "./transport.ts";

/** What every engine reached over HTTP is configured with. */
export interface ServerOptions {
  /** Where the server is, `http://127.0.0.1:8000`. A key may stand in it as `user:password@`. */
  readonly url: string;
  /** The model's name at the server. */
  readonly model: string;
  /** Sent as a bearer token. */
  readonly apiKey?: string;
  /** Further headers for every request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Further fields for every completion, in the server's own words; they win over ours. */
  readonly extraBody?: Readonly<Record<string, unknown>>;
  readonly transport?: Transport;
  readonly timeouts?: Partial<Timeouts>;
  readonly clock?: Clock;
}

/** Generous: a loaded engine may queue a request for minutes before its first byte. */
export const DEFAULT_TIMEOUTS: Timeouts = {
  connectMs: 10_000,
  firstByteMs: 600_000,
  idleMs: 300_000,
};

/** Small questions, whose answers somebody waits for. */
const QUESTION_TIMEOUTS: Timeouts = { connectMs: 5_000, firstByteMs: 15_000, idleMs: 15_000 };

/** Takes the events of one completion in and gives tokens out. Pure: it knows no network and no clock. */
export interface CompletionReader {
  /**
   * Reads one event. Throws an {@link EngineError} when the event is one, any other error when it makes
   * no sense.
   */
  push(event: string): void;
  /** The tokens since the last call, those of several events merged. */
  take(): EngineTokens | undefined;
  /** How the completion finished, once that is known. Later events may still add the usage. */
  finish(): EngineFinish | undefined;
  /** Nothing further is expected: for servers that do not end with `[DONE]`. */
  readonly done?: boolean;
}

export interface Server {
  /** `vllm at http://127.0.0.1:8000`: the subject of every error sentence. */
  readonly name: string;
  /** Asks a small question. Undefined when the path is unknown to the server. */
  get(path: string, signal: AbortSignal): Promise<unknown>;
  post(path: string, body: string, signal: AbortSignal): Promise<unknown>;
  /** Whether the server is well: any answer but an error will do. */
  check(path: string, signal: AbortSignal): Promise<void>;
  /** Runs one completion; see {@link Engine.complete} for what comes out and when the connection closes. */
  complete(call: CompletionCall, signal: AbortSignal): PushStream<EngineEvent>;
  /** An error in a stream, or an answer that breaks the protocol. */
  toError(complaint: ServerErrorBody): EngineError;
}

export interface CompletionCall {
  readonly path: string;
  readonly body: string;
  readonly reader: CompletionReader;
  /** How events are cut out of the bytes: server-sent events by default. */
  readonly splitter?: Splitter;
  /**
   * SGLang answers 200 to every stream and refuses in the first event, so only that event says whether
   * the request was accepted.
   */
  readonly openAtFirstEvent?: boolean;
}

/** Most bytes of an error body or of a small answer worth reading. */
const MAX_SMALL_BODY_BYTES = 1024 * 1024;
/** What a server needs to end a response after its last event, so that the connection can be used again. */
const END_GRACE_MS = 250;
/** After its finish a server has so long to give its usage and end: some never send `[DONE]` and keep the connection. */
const USAGE_WAIT_MS = 1_000;

export function connectServer(kind: string, options: ServerOptions): Server {
  const { base, authorization } = readUrl(options.url);
  const { transport = createFetchTransport(), clock = systemClock } = options;
  const timeouts: Timeouts = { ...DEFAULT_TIMEOUTS, ...options.timeouts };
  const questionTimeouts: Timeouts = {
    connectMs: Math.min(timeouts.connectMs, QUESTION_TIMEOUTS.connectMs),
    firstByteMs: Math.min(timeouts.firstByteMs, QUESTION_TIMEOUTS.firstByteMs),
    idleMs: Math.min(timeouts.idleMs, QUESTION_TIMEOUTS.idleMs),
  };
  const key = options.apiKey === undefined ? authorization : `Bearer ${options.apiKey}`;
  const headers = {
    // A compressed stream arrives in lumps.
    "accept-encoding": "identity",
    ...(key !== undefined && { authorization: key }),
    ...options.headers,
  };
  const name = `${kind} at ${toPublicUrl(base)}`;
  const identity: Identity = { name, secrets: toSecrets(headers) };

  const post = (path: string, body: string, signal: AbortSignal, limits: Timeouts) => () =>
    transport({
      method: "POST",
      url: base + path,
      headers: { ...headers, "content-type": "application/json" },
      body,
      timeouts: limits,
      signal,
    });

  const toError = (complaint: ServerErrorBody): EngineError => toServerError(identity, complaint);

  return {
    name,
    toError,

    async get(path, signal) {
      const response = await transport({
        method: "GET",
        url: base + path,
        headers,
        timeouts: questionTimeouts,
        signal,
      });
      return readAnswer(identity, response);
    },

    async post(path, body, signal) {
      return readAnswer(identity, await post(path, body, signal, questionTimeouts)());
    },

    async check(path, signal) {
      const response = await transport({
        method: "GET",
        url: base + path,
        headers,
        timeouts: questionTimeouts,
        signal,
      });
      const body = await readText(response);
      if (response.status >= 400) throw toHttpError(identity, response, body);
    },

    complete: (call, signal) =>
      createPushStream((take) =>
        readCompletion(identity, post(call.path, call.body, signal, timeouts), call, {
          signal,
          take,
          clock,
        }),
      ),
  };
}

interface CompletionDeps {
  readonly signal: AbortSignal;
  readonly take: Consumer<EngineEvent>;
  readonly clock: Clock;
}

/**
 * Pumps bytes through the splitter and the reader. One read from the network gives at most one event of tokens, however
 * many it brought.
 */
async function readCompletion(
  identity: Identity,
  request: () => Promise<TransportResponse>,
  { reader, splitter = createSseSplitter(), openAtFirstEvent = false }: CompletionCall,
  { signal, take, clock }: CompletionDeps,
): Promise<void> {
  const response = await request();
  let graceMs: number | undefined;
  let opened = !openAtFirstEvent;
  let wanted = true;
  let failure: { readonly error: unknown } | undefined;
  /** Settles when there is room again after the last hand-over: nothing more may be handed over before. */
  let hasRoom = Promise.resolve(true);
  const usageIsLate = Promise.withResolvers<void>();
  let stopWaiting: (() => void) | undefined;
  let isLeft = false;

  const takeBytes = (bytes: Uint8Array): Demand => {
    if (isLeft) return false;
    let done = false;
    let events: readonly string[] = [];
    try {
      events = splitter.push(bytes);
      for (const event of events) {
        if (event === "[DONE]") done = true;
        else reader.push(event);
      }
    } catch (error) {
      // What came before the error in the same read has been sampled: it goes out first.
      failure = { error: error instanceof EngineError ? error : toProtocolError(identity, error) };
    }
    const tokens = reader.take();
    let more: Demand = true;
    if (!opened && (tokens !== undefined || (events.length > 0 && failure === undefined))) {
      opened = true;
      more = take({ type: "open" });
    }
    if (tokens !== undefined) more = andThen(more, () => take(tokens));
    if (typeof more === "boolean") wanted = more;
    else more = hasRoom = more.then((answer) => (wanted = answer));
    if (stopWaiting === undefined && reader.finish() !== undefined) {
      stopWaiting = clock.after(USAGE_WAIT_MS, () => {
        isLeft = true;
        usageIsLate.resolve();
      });
    }
    return done || failure !== undefined || reader.done === true ? andThen(more, no) : more;
  };

  try {
    await expectStream(identity, response);
    if (opened && !(await take({ type: "open" }))) return;
    try {
      await Promise.race([response.pump(takeBytes), usageIsLate.promise]);
      await hasRoom;
    } catch (error) {
      // A connection that breaks after the finish has cost us the usage at most.
      if (signal.aborted || reader.finish() === undefined) throw error;
    }
    if (!wanted) return;
    if (failure !== undefined) throw failure.error;
    const finish = reader.finish();
    if (finish === undefined) {
      throw new EngineError("closed", `${identity.name} ended its answer without saying why.`);
    }
    // Before the finish is handed over: who has it need not come back for more.
    if (!isLeft) graceMs = END_GRACE_MS;
    await take(finish);
  } finally {
    stopWaiting?.();
    response.close(graceMs);
  }
}

const no = (): boolean => false;

/** Whom errors speak of, and what must not stand in them. */
interface Identity {
  readonly name: string;
  readonly secrets: readonly string[];
}

function toServerError(
  { name, secrets }: Identity,
  complaint: ServerErrorBody,
  status?: number,
  retryAfter?: number,
): EngineError {
  const message = redact(complaint.message, secrets);
  return toEngineError(name, { ...complaint, message }, status, retryAfter);
}

function toProtocolError({ name }: Identity, cause: unknown): EngineError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new EngineError("server-error", `${name} broke the protocol: ${why}.`, { cause });
}

/** A stream, or the error that came instead of one, also under status 200. */
async function expectStream(identity: Identity, response: TransportResponse): Promise<void> {
  const type = response.headers.get("content-type") ?? "";
  const isSuccess = response.status >= 200 && response.status < 300;
  // A server without a content type, or with an odd one, is given the benefit of the doubt.
  if (isSuccess && !/^(application\/json|text\/html)\b/i.test(type)) return;
  const body = await readText(response);
  if (!isSuccess) throw toHttpError(identity, response, body);
  const complaint = findServerError(parseJson(body));
  if (complaint !== undefined) throw toServerError(identity, complaint);
  throw toNoServer(identity, `${type} instead of a stream`, response, body);
}

async function readAnswer(identity: Identity, response: TransportResponse): Promise<unknown> {
  const body = await readText(response);
  if (response.status === 404 || response.status === 405) return undefined;
  if (response.status < 200 || response.status > 299) throw toHttpError(identity, response, body);
  const answer = parseJson(body);
  if (answer !== undefined) return answer;
  throw toNoServer(identity, "something that is not JSON", response, body);
}

function toNoServer(
  { name, secrets }: Identity,
  what: string,
  { status }: TransportResponse,
  body: string,
): EngineError {
  return new EngineError(
    "server-error",
    `${name} answered with ${what}. Is this the URL of an inference server?`,
    { status, serverMessage: redact(readServerError(body, status).message, secrets) },
  );
}

function toHttpError(identity: Identity, response: TransportResponse, body: string): EngineError {
  const { status, headers } = response;
  const location = headers.get("location");
  const complaint =
    status < 400 && location !== null
      ? { message: `redirected to ${toSafeLocation(location)}`, isOurs: true }
      : readServerError(body, status);
  return toServerError(identity, complaint, status, readRetryAfter(headers));
}

function toSafeLocation(location: string): string {
  return URL.canParse(location) ? toPublicUrl(location) : location;
}

async function readText(response: TransportResponse): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let size = 0;
  try {
    await response.pump((bytes) => {
      size += bytes.length;
      text += decoder.decode(bytes, { stream: true });
      return size < MAX_SMALL_BODY_BYTES;
    });
  } finally {
    response.close();
  }
  return text;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** `fetch` refuses URLs with credentials, and errors must not show them. */
function readUrl(text: string): { base: string; authorization?: string } {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new EngineError(
      "unreachable",
      `"${text}" is not an http URL. Write it as http://host:port.`,
    );
  }
  const { username, password } = url;
  url.username = "";
  url.password = "";
  url.search = "";
  url.hash = "";
  // Many a documentation gives the URL with the API's version; our paths have it.
  const base = url.href.replace(/(\/v1)?\/*$/, "");
  if (username === "" && password === "") return { base };
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { base, authorization: `Basic ${btoa(credentials)}` };
}
