/**
 * One WebSocket connection: `response.create` messages in, the events of their responses out, one response after the
 * other. Independent of the runtime: messages are passed in, and replies to a callback.
 */
import { consume } from "../../streams/push-stream.ts";
import type { OpenExchange } from "../../telemetry/record/recorder.ts";
import { traceMessage } from "../../telemetry/tracing/request-span.ts";
import { refuseExpired } from "../auth.ts";
import { type ReadBody, toReadBody } from "../request/body-memory.ts";
import { describeError, type ErrorDescription, RequestError, toError } from "../errors.ts";
import { CLIENT_LEFT } from "../middleware/log-requests.ts";
import { UNCOUNTED_BYTES, type ByteLease } from "../request/byte-budget.ts";
import { untilBegun } from "../reply/wait-for-first-event.ts";
import { type ConnectionStore, createConnectionStore } from "./connection-store.ts";
import type { Caller, ResponsesContext } from "./context.ts";
import { toResponsesError } from "./errors.ts";
import { eventIntervalMs } from "./keep-alive.ts";
import type { MessageEnding } from "./log-messages.ts";
import { prepareResponse, readResponse } from "./prepare.ts";
import { runResponse } from "./run.ts";
import { CREATE, readMessage, type SocketMessage } from "./socket-message.ts";
import type { SocketPort } from "./socket-port.ts";
import { SocketQueue } from "./socket-queue.ts";
import type { EventWriter, ResponseEvent } from "./to-events.ts";
import { streamResponse, withEvents, withFailure } from "./stream-response.ts";

const BUSY = { status: 429, type: "rate_limit_error", errorType: "rate_limit_exceeded" } as const;

/** WebSocket close codes. */
const NORMAL = 1000;
const UNSUPPORTED_DATA = 1003;
const POLICY_VIOLATION = 1008;
const TRY_AGAIN_LATER = 1013;

/** Messages in a row that are refused because they cannot be read, or too many are waiting. The next one ends the connection. */
const MAX_REFUSED = 32;
/** Messages that may still arrive when the connection has been closed: as many as the client can have sent ahead. */
const MAX_LATE = 32;

const PATH = "/v1/responses";
/** In records: the status of the connection. */
const SWITCHING = 101;
const NO_HEADERS = new Headers();

export interface SocketCaller extends Omit<Caller, "responses" | "signal"> {
  /** Headers of the request that opened the connection. */
  readonly headers: Headers;
}

/** Why the connection is closed, and the error that is sent before. */
interface Ending {
  readonly reason: string;
  readonly error: RequestError | undefined;
}

export class SocketSession {
  readonly #port: SocketPort;
  readonly #caller: SocketCaller;
  readonly #context: ResponsesContext;
  readonly #responses: ConnectionStore;
  readonly #queue: SocketQueue;
  /** For the messages that are being received or waiting. */
  readonly #lease: ByteLease;
  readonly #abort = new AbortController();
  /** Bytes that have arrived since the last message. */
  #arriving = 0;
  /** Requests read so far, for their ids. */
  #requests = 0;
  #isBusy = false;
  #ending: Ending | undefined;
  #isClosed = false;
  /** Messages that were refused since the last request. */
  #refused = 0;
  /** Messages that have arrived since the connection was closed. */
  #late = 0;
  #hasIgnored = false;

  constructor(port: SocketPort, caller: SocketCaller, context: ResponsesContext) {
    this.#port = port;
    this.#caller = caller;
    this.#context = context;
    const room = context.ownResponses.open(caller.client.tenant);
    this.#responses = createConnectionStore(context.responses, room);
    this.#queue = new SocketQueue(port, context.maxBodyBytes);
    this.#lease = context.uploads.open(caller.client.tenant);
  }

  /** Bytes of a message have arrived. Not called on runtimes that do not report it. */
  noteBytes(bytes: number): void {
    this.#arriving += bytes;
    if (this.#arriving > UNCOUNTED_BYTES) this.#hold();
  }

  /**
   * Handles a text message; undefined for any other kind, which ends the connection. Resolves when it has been answered.
   * Never rejects.
   */
  async receive(message: string | undefined): Promise<void> {
    this.#arriving = 0;
    if (this.#isClosed) return this.#ignoreLate();
    if (this.#ending !== undefined || this.#abort.signal.aborted) return;
    if (message === undefined) {
      this.#drop(UNSUPPORTED_DATA, "Messages must be JSON text.");
    } else if (this.#isBusy && !this.#queue.hasRoomFor(message)) {
      const problem = "Too many requests are waiting. Wait for a response.";
      await this.#refuseMessage(new RequestError(problem, BUSY));
    } else {
      this.#queue.add(message);
      this.#hold();
      await this.#work();
    }
  }

  /** The client has disconnected: stops the in-flight response. */
  leave(): void {
    this.#stop();
    this.#lease.release();
    this.#responses.close();
  }

  /** Closes the connection as soon as no response is in flight, after an error if one is given. */
  finish(reason: string, error?: RequestError): void {
    this.#ending ??= { reason, error };
    this.#queue.clear();
    if (!this.#isBusy) void this.#end(this.#ending);
  }

  /** A client that goes on sending does not wait for the closing handshake, and neither does the gateway. */
  #ignoreLate(): void {
    this.#late += 1;
    if (this.#late === MAX_LATE) this.#port.terminate();
  }

  #close(code: number, reason: string): void {
    this.#isClosed = true;
    this.#port.close(code, reason);
  }

  async #refuseMessage(error: unknown): Promise<void> {
    this.#refused += 1;
    if (this.#refused > MAX_REFUSED)
      this.#drop(POLICY_VIOLATION, "Too many messages were refused.");
    else await this.#refuse(error);
  }

  /** Closes the connection without an answer to what has been requested. */
  #drop(code: number, reason: string): void {
    this.#stop();
    this.#close(code, reason);
  }

  #stop(): void {
    this.#queue.clear();
    this.#abort.abort();
  }

  /** What has been received of a message is held until the socket has closed, so no more of it is read. */
  #hold(): void {
    if (this.#isClosed || this.#abort.signal.aborted) return;
    // Not their sum: while a large message waits, reading is paused. The last read may hold the beginning of the next message.
    const bytes = Math.max(this.#arriving - UNCOUNTED_BYTES, this.#queue.size);
    try {
      this.#lease.resize(bytes > UNCOUNTED_BYTES ? bytes : 0);
    } catch (error) {
      void this.#refuse(error);
      this.#drop(TRY_AGAIN_LATER, "Too many bytes are being received.");
      this.#port.pause();
    }
  }

  /** Answers queued requests one after the other, unless that is already going on. */
  async #work(): Promise<void> {
    if (this.#isBusy) {
      this.#queue.pauseWhenFull();
      return;
    }
    this.#isBusy = true;
    for (let next = this.#queue.next(); next !== undefined; next = this.#queue.next()) {
      this.#hold();
      this.#queue.pauseWhenFull();
      await this.#answer(next);
    }
    this.#isBusy = false;
    if (this.#ending !== undefined) await this.#end(this.#ending);
  }

  async #end({ reason, error }: Ending): Promise<void> {
    if (error) await this.#refuse(error);
    this.#close(NORMAL, reason);
  }

  /** Never rejects. */
  async #answer(message: string): Promise<void> {
    let read: SocketMessage;
    try {
      read = await readMessage(message, this.#context.maxBodyBytes, this.#context.pause);
    } catch (error) {
      if (!this.#abort.signal.aborted) await this.#refuseMessage(error);
      return;
    }
    if (this.#abort.signal.aborted) return;
    this.#refused = 0;
    const id = `${this.#caller.requestId}-${++this.#requests}`;
    // Clients send other messages as hints; Codex drops a connection that answers one with an error.
    if (read.type !== CREATE) return this.#ignore(id, read.type);
    const { headers } = this.#caller;
    const end = this.#context.beginMessage(id, PATH, this.#caller);
    await traceMessage({ id, route: PATH, headers }, async () => {
      const ending = await this.#respond(message, id, read);
      end(ending);
      return ending.status;
    });
  }

  /** The first one is logged, because any number may come. */
  #ignore(id: string, type: string): void {
    if (!this.#hasIgnored) this.#context.onIgnoredMessage(id, type);
    this.#hasIgnored = true;
  }

  /** Never rejects. */
  async #respond(
    message: string,
    id: string,
    { previous, value }: SocketMessage,
  ): Promise<MessageEnding> {
    const exchange = this.#record(message, id);
    const ending: MessageEnding = { status: 200 };
    try {
      await this.#create(toReadBody(message, value), id, exchange, ending);
    } catch (error) {
      if (this.#abort.signal.aborted) {
        ending.status = CLIENT_LEFT;
        return ending;
      }
      ending.status = this.#fail(error, id).status;
      ending.error = error;
      exchange?.respond(ending.status, NO_HEADERS);
      exchange?.refused(toError(error).message);
      if (previous !== undefined) this.#responses.evict(previous);
      await this.#refuse(error);
    } finally {
      exchange?.end();
    }
    return ending;
  }

  /** Creates a response and sends its events. Rejects if the request is refused before any event. */
  async #create(
    body: ReadBody,
    requestId: string,
    exchange: OpenExchange | undefined,
    ending: MessageEnding,
  ): Promise<void> {
    const context = this.#context;
    const { signal } = this.#abort;
    refuseExpired(this.#caller.client, context.now());
    const caller = { ...this.#caller, requestId, signal, responses: this.#responses };
    const read = await readResponse(body, caller, context);
    ending.media = read.media.counts;
    const prepared = await prepareResponse(read, caller, context);
    const streamed = withEvents(prepared, context);
    const produced = streamResponse(streamed, runResponse(prepared, context, signal), context);
    const begun = await untilBegun(produced, { patienceMs: context.keepAliveMs, signal });
    const fail = (error: unknown) => this.#fail(error, requestId);
    const events = withFailure(begun, streamed, context, { signal, fail });
    exchange?.respond(SWITCHING, NO_HEADERS);
    await this.#send(events, streamed.writer, exchange);
  }

  #fail(error: unknown, id: string): ErrorDescription {
    this.#context.onFailure(error, id, this.#caller.client);
    return describeError(error);
  }

  #record(message: string, id: string): OpenExchange | undefined {
    const { tenant, reasoningPolicy, isPrivate } = this.#caller.client;
    return this.#context.recorder?.begin({
      id,
      api: "responses",
      tenant,
      reasoningPolicy,
      isPrivate,
      method: "WEBSOCKET",
      path: PATH,
      headers: NO_HEADERS,
      body: message,
    });
  }

  /** Sends the events, and keep-alive events while there are none. */
  async #send(
    events: AsyncIterable<ResponseEvent>,
    writer: EventWriter,
    exchange: OpenExchange | undefined,
  ): Promise<void> {
    const port = this.#port;
    let isQuiet = true;
    let isSending = false;
    const send = async ({ json }: ResponseEvent) => {
      isQuiet = false;
      isSending = true;
      exchange?.noteEvents(json);
      await port.send(json);
      isSending = false;
      return true;
    };
    const keepAlive = setInterval(() => {
      if (isQuiet && !isSending) for (const event of writer.keepAlive()) void port.send(event.json);
      isQuiet = true;
    }, eventIntervalMs(this.#context.keepAliveMs));
    try {
      await consume(events, send);
    } finally {
      clearInterval(keepAlive);
    }
  }

  #refuse(error: unknown): Promise<void> {
    const description = describeError(error);
    const { message, type, param, code } = toResponsesError(description);
    const { status, errorType } = description;
    // Unlike over HTTP, Open Responses always requires a code here.
    const detail = { type, code: code ?? errorType, message, param };
    return this.#port.send(JSON.stringify({ type: "error", status, error: detail }));
  }
}
