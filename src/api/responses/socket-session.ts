/**
 * One WebSocket connection: `response.create` messages in, the events of their responses out. The responses of a lane follow each
 * other; lanes run beside each other. Independent of the runtime: messages are passed in, and replies to a callback.
 */
import { consume } from "../../streams/push-stream.ts";
import type { OpenExchange } from "../../telemetry/record/recorder.ts";
import { traceMessage } from "../../telemetry/tracing/request-span.ts";
import { refuseExpired } from "../auth.ts";
import { type ReadBody, toReadBody } from "../request/body-memory.ts";
import { describeError, type ErrorDescription, RequestError, toError } from "../errors.ts";
import { CLIENT_LEFT } from "../middleware/log-requests.ts";
import { UNCOUNTED_BYTES, type ByteLease } from "../request/byte-budget.ts";
import { toPlausibleName } from "../tools/skipped-tools.ts";
import { readBodyOfTurn } from "../turn/serve-turn.ts";
import { untilBegun } from "../reply/wait-for-first-event.ts";
import { type ConnectionStore, createConnectionStore } from "./connection-store.ts";
import type { Caller, ResponsesContext } from "./context.ts";
import { toResponsesError } from "./errors.ts";
import { eventIntervalMs, streamResponse, withEvents, withFailure } from "./stream-response.ts";
import type { MessageEnding } from "./log-messages.ts";
import { prepareResponse, responsesReader } from "./prepare.ts";
import { runResponse } from "./run.ts";
import { CREATE, readLane, readMessage, type SocketMessage, STEER } from "./socket-message.ts";
import type { SocketPort } from "./socket-port.ts";
import { SocketQueue } from "./socket-queue.ts";
import type { EventWriter, ResponseEvent } from "./to-events.ts";

const BUSY = { status: 429, type: "rate_limit_error", errorType: "rate_limit_exceeded" } as const;

/** WebSocket close codes. */
const NORMAL = 1000;
const UNSUPPORTED_DATA = 1003;
const POLICY_VIOLATION = 1008;
const TRY_AGAIN_LATER = 1013;

/** Messages in a row that are refused because they cannot be read, or too many are waiting. The next one ends the connection. */
const MAX_REFUSED = 32;
/** Lanes that run at a time. Messages of further ones wait, and so does what comes after them. */
const MAX_LANES = 32;
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

/** The requests with one `stream_id`, or those without. It exists while there is one. */
interface Lane {
  readonly name: string | undefined;
  readonly waiting: string[];
  /** The response that is generated. */
  response: string | undefined;
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
  readonly #lanes = new Map<string | undefined, Lane>();
  /** A message has arrived, or a lane has ended. */
  #changed: PromiseWithResolvers<void> | undefined;
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
      await this.#refuseMessage(new RequestError(problem, BUSY), readLane(message));
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
    this.#dropWaiting();
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

  async #refuseMessage(error: unknown, lane: string | undefined): Promise<void> {
    this.#refused += 1;
    if (this.#refused > MAX_REFUSED)
      this.#drop(POLICY_VIOLATION, "Too many messages were refused.");
    else await this.#refuse(error, lane);
  }

  /** Closes the connection without an answer to what has been requested. */
  #drop(code: number, reason: string): void {
    this.#stop();
    this.#close(code, reason);
  }

  #stop(): void {
    this.#dropWaiting();
    this.#abort.abort();
  }

  #dropWaiting(): void {
    this.#queue.clear();
    for (const { waiting } of this.#lanes.values()) {
      for (const message of waiting.splice(0)) this.#queue.release(message);
    }
    this.#queue.pauseWhenFull();
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

  /** Gives queued messages to their lanes until all are answered, unless that is already going on. */
  async #work(): Promise<void> {
    if (this.#isBusy) {
      this.#queue.pauseWhenFull();
      this.#changed?.resolve();
      return;
    }
    this.#isBusy = true;
    for (;;) {
      const next = this.#queue.next();
      if (next !== undefined) await this.#assign(next);
      else if (this.#lanes.size > 0) await this.#change();
      else break;
    }
    this.#isBusy = false;
    if (this.#ending !== undefined) await this.#end(this.#ending);
  }

  #change(): Promise<void> {
    this.#changed = Promise.withResolvers();
    return this.#changed.promise;
  }

  async #end({ reason, error }: Ending): Promise<void> {
    if (error) await this.#refuse(error);
    this.#close(NORMAL, reason);
  }

  /** Gives a message to its lane. Resolves when the next one may be read. Never rejects. */
  async #assign(message: string): Promise<void> {
    // While there are lanes, it counts as waiting until one takes it: else more would be read meanwhile than may wait.
    const mayWait = this.#lanes.size > 0;
    if (!mayWait) this.#release(message);
    const read = await this.#read(message);
    const busy = read && this.#lanes.get(read.lane);
    if (busy !== undefined && !this.#abort.signal.aborted) {
      busy.waiting.push(message);
      return;
    }
    if (read !== undefined) while (this.#lanes.size >= MAX_LANES) await this.#change();
    if (mayWait) this.#release(message);
    if (read !== undefined && !this.#abort.signal.aborted) void this.#run(message, read);
  }

  #release(message: string): void {
    this.#queue.release(message);
    this.#queue.pauseWhenFull();
    this.#hold();
  }

  /** Undefined: it has been answered, or there is nothing to answer. Never rejects. */
  async #read(message: string): Promise<SocketMessage | undefined> {
    let read: SocketMessage;
    try {
      read = await readMessage(message, this.#context.maxBodyBytes, this.#context.pause);
    } catch (error) {
      if (!this.#abort.signal.aborted) await this.#refuseMessage(error, readLane(message));
      return undefined;
    }
    if (this.#abort.signal.aborted) return undefined;
    this.#refused = 0;
    if (read.type === CREATE) return read;
    if (read.type === STEER) await this.#refuseSteer(read);
    // Clients send other messages as hints; Codex drops a connection that answers one with an error.
    else this.#ignore(read.type);
    return undefined;
  }

  /** Answers the requests of a lane until none waits. Never rejects. */
  async #run(message: string, first: SocketMessage): Promise<void> {
    const { lane: name } = first;
    const lane: Lane = { name, waiting: [], response: undefined };
    this.#lanes.set(name, lane);
    await this.#answer(message, first, lane);
    for (let next = lane.waiting.shift(); next !== undefined; next = lane.waiting.shift()) {
      this.#release(next);
      // Only its text has waited: the value takes several times as much.
      const read = await this.#read(next);
      if (read !== undefined) await this.#answer(next, read, lane);
    }
    this.#lanes.delete(name);
    this.#changed?.resolve();
  }

  /** Never rejects. */
  async #answer(message: string, read: SocketMessage, lane: Lane): Promise<void> {
    if (this.#abort.signal.aborted) return;
    const id = `${this.#caller.requestId}-${++this.#requests}`;
    const { headers } = this.#caller;
    const end = this.#context.beginMessage(id, PATH, this.#caller);
    await traceMessage({ id, route: PATH, headers }, async () => {
      const ending = await this.#respond(message, { id, read, lane });
      end(ending);
      return ending.status;
    });
    lane.response = undefined;
  }

  /** Input for a response that is generated is not taken: the client gets it back. */
  #refuseSteer({ previous, value }: SocketMessage): Promise<void> {
    const lane = this.#lanes.values().find(({ response }) => response === previous);
    const message = "This gateway does not steer a response. Send the input with response.create.";
    const error = { type: "invalid_request_error", code: "steering_not_supported", message };
    const steer = { previous_response_id: previous, input: Reflect.get(value, "input") };
    const event = { type: "response.steer.failed", error, steer, sequence_number: 0 };
    return this.#port.send(withLane(JSON.stringify(event), lane?.name));
  }

  /** The first one is logged, because any number may come. */
  #ignore(type: string): void {
    const id = `${this.#caller.requestId}-${++this.#requests}`;
    if (!this.#hasIgnored)
      this.#context.log.info("message ignored", { id, type: toPlausibleName(type) });
    this.#hasIgnored = true;
  }

  /** Never rejects. */
  async #respond(message: string, { id, read, lane }: Asked): Promise<MessageEnding> {
    const { previous, value } = read;
    const exchange = this.#record(message, id);
    const ending: MessageEnding = { status: 200 };
    try {
      await this.#create(toReadBody(message, value), { id, lane, exchange, ending });
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
      await this.#refuse(error, lane.name);
    } finally {
      exchange?.end();
    }
    return ending;
  }

  /** Creates a response and sends its events. Rejects if the request is refused before any event. */
  async #create(
    body: ReadBody,
    { id: requestId, lane, exchange, ending }: Creation,
  ): Promise<void> {
    const context = this.#context;
    const { signal } = this.#abort;
    refuseExpired(this.#caller.client, context.now());
    const caller = {
      ...this.#caller,
      requestId,
      signal,
      responses: this.#responses.lane(lane.name),
    };
    const read = await readBodyOfTurn(body, caller, responsesReader(context), context);
    ending.media = read.media.counts;
    const prepared = await prepareResponse(read, caller, context);
    const streamed = withEvents(prepared, context);
    lane.response = prepared.id;
    const produced = streamResponse(streamed, runResponse(prepared, context, signal), context);
    const begun = await untilBegun(produced, { patienceMs: context.keepAliveMs, signal });
    const fail = (error: unknown) => this.#fail(error, requestId);
    const events = withFailure(begun, streamed, context, { signal, fail });
    exchange?.respond(SWITCHING, NO_HEADERS);
    await this.#send(events, streamed.writer, { lane, exchange });
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
    { lane, exchange }: Pick<Creation, "lane" | "exchange">,
  ): Promise<void> {
    const port = this.#port;
    let isQuiet = true;
    let isSending = false;
    const send = async ({ json }: ResponseEvent) => {
      isQuiet = false;
      isSending = true;
      exchange?.noteEvents(json);
      await port.send(withLane(json, lane.name));
      isSending = false;
      return true;
    };
    const keepAlive = setInterval(() => {
      if (isQuiet && !isSending) {
        for (const { json } of writer.keepAlive()) void port.send(withLane(json, lane.name));
      }
      isQuiet = true;
    }, eventIntervalMs(this.#context.keepAliveMs));
    try {
      await consume(events, send);
    } finally {
      clearInterval(keepAlive);
    }
  }

  #refuse(error: unknown, lane?: string): Promise<void> {
    const description = describeError(error);
    const { message, type, param, code } = toResponsesError(description);
    const { status, errorType } = description;
    // Unlike over HTTP, Open Responses always requires a code here.
    const detail = { type, code: code ?? errorType, message, param };
    return this.#port.send(
      withLane(JSON.stringify({ type: "error", status, error: detail }), lane),
    );
  }
}

/** A request, with its id and its lane. */
interface Asked {
  readonly id: string;
  readonly read: SocketMessage;
  readonly lane: Lane;
}

interface Creation extends Pick<Asked, "id" | "lane"> {
  readonly exchange: OpenExchange | undefined;
  readonly ending: MessageEnding;
}

/** An event names the lane that its client has named. */
function withLane(json: string, lane: string | undefined): string {
  return lane === undefined ? json : `${json.slice(0, -1)},"stream_id":${JSON.stringify(lane)}}`;
}
