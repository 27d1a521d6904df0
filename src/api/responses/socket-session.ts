/**
 * One WebSocket connection: it receives `response.create` messages and sends the events of their responses. Responses
 * of one lane run one after the other, lanes run concurrently. The session is independent of the runtime: messages are
 * passed in, and replies go to a port.
 */
import { consume } from "../../streams/push-stream.ts";
import type { OpenExchange } from "../../telemetry/record/recorder.ts";
import { traceMessage } from "../../telemetry/tracing/request-span.ts";
import { refuseExpired } from "../auth.ts";
import { type ReadBody, toReadBody } from "../request/body-memory.ts";
import { describeError, type ErrorDescription, RequestError, toError } from "../errors.ts";
import { CLIENT_LEFT } from "../middleware/log-requests.ts";
import { UNCOUNTED_BYTES, type ByteLease } from "../request/byte-budget.ts";
import { checkLimits } from "../request/limits.ts";
import { toPlausibleName } from "../tools/skipped-tools.ts";
import { readBodyOfTurn } from "../turn/serve-turn.ts";
import { untilBegun } from "../reply/wait-for-first-event.ts";
import { type ConnectionStore, createConnectionStore } from "./connection-store.ts";
import type { Caller, ResponsesContext } from "./context.ts";
import { toResponsesError } from "./errors.ts";
import { eventIntervalMs, streamResponse, withEvents, withFailure } from "./stream-response.ts";
import type { MessageEnding } from "./log-messages.ts";
import { type PreparedResponse, prepareResponse, responsesReader } from "./prepare.ts";
import { runResponse } from "./run.ts";
import { CREATE, readLane, readMessage, type SocketMessage, STEER } from "./socket-message.ts";
import type { SocketPort } from "./socket-port.ts";
import { SocketQueue } from "./socket-queue.ts";
import { failed, requiredInput, type Steer, Steers, withMembers } from "./socket-steers.ts";
import type { EventWriter, ResponseEvent } from "./to-events.ts";

/** WebSocket close codes. */
const NORMAL = 1000;
const UNSUPPORTED_DATA = 1003;
const POLICY_VIOLATION = 1008;
const TRY_AGAIN_LATER = 1013;

/**
 * Maximum number of messages refused in a row, because they are invalid or too many are waiting. The next refusal ends
 * the connection.
 */
const MAX_REFUSED = 32;
/** Maximum number of concurrent lanes. A message of a further lane waits, and so do the messages after it. */
const MAX_LANES = 32;
/**
 * Maximum number of messages that may arrive after the connection was closed: as many as the client can have sent
 * ahead.
 */
const MAX_LATE = 32;

const PATH = "/v1/responses";
/** The status of a connection in records. */
const SWITCHING = 101;
const NO_HEADERS = new Headers();

export interface SocketCaller extends Omit<Caller, "responses" | "signal"> {
  /** Headers of the request that opened the connection. */
  readonly headers: Headers;
}

/** The reason for closing the connection, and the error that is sent before. */
interface Ending {
  readonly reason: string;
  readonly error: RequestError | undefined;
}

/** The requests with one `stream_id`, or the requests without. A lane exists while it has a request. */
interface Lane {
  readonly name: string | undefined;
  readonly waiting: string[];
  /** Input for a successor of the response that has just ended. */
  steered: Steered | undefined;
}

interface Steered {
  readonly responseId: string;
  readonly steers: readonly Steer[];
}

export class SocketSession {
  readonly #port: SocketPort;
  readonly #caller: SocketCaller;
  readonly #context: ResponsesContext;
  readonly #responses: ConnectionStore;
  readonly #queue: SocketQueue;
  /** Lease for the messages that are being received or waiting. */
  readonly #lease: ByteLease;
  readonly #abort = new AbortController();
  /** Bytes that have arrived since the last message. */
  #arriving = 0;
  /** Number of requests so far, used in their ids. */
  #requests = 0;
  #isBusy = false;
  readonly #lanes = new Map<string | undefined, Lane>();
  /** Resolved when a message has arrived or a lane has ended. */
  #changed: PromiseWithResolvers<void> | undefined;
  readonly #steers: Steers;
  #ending: Ending | undefined;
  #isClosed = false;
  /** Number of messages refused since the last valid one. */
  #refused = 0;
  /** Number of messages that have arrived since the connection was closed. */
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
    this.#steers = new Steers(context.randomId);
  }

  /** Counts arrived bytes of a message. Not called on runtimes that do not report them. */
  noteBytes(bytes: number): void {
    this.#arriving += bytes;
    if (this.#arriving > UNCOUNTED_BYTES) this.#hold();
  }

  /**
   * Handles a text message. Undefined stands for any other kind, which ends the connection. Resolves when it has been
   * answered. Never rejects.
   */
  async receive(message: string | undefined): Promise<void> {
    this.#arriving = 0;
    if (this.#isClosed) return this.#ignoreLate();
    if (this.#ending !== undefined || this.#abort.signal.aborted) return;
    if (message === undefined) {
      this.#drop(UNSUPPORTED_DATA, "Messages must be JSON text.");
    } else if (this.#isBusy && !this.#queue.hasRoomFor(message)) {
      const problem = "Too many requests are waiting. Wait for a response.";
      await this.#refuseMessage(new RequestError(problem, { status: 429 }), readLane(message));
    } else {
      this.#queue.add(message);
      this.#hold();
      await this.#work();
    }
  }

  /** Stops in-flight responses after the client has disconnected. */
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

  /** Terminates the connection of a client that keeps sending instead of completing the closing handshake. */
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

  /** Closes the connection without answering its requests. */
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

  /**
   * Holds the received bytes in the budget. They stay held until the socket has closed, so reading stops when the
   * budget is exceeded.
   */
  #hold(): void {
    if (this.#isClosed || this.#abort.signal.aborted) return;
    // The maximum, not the sum: while a large message waits, reading is paused. The last read may contain the beginning
    // of the next message.
    const bytes = Math.max(this.#arriving - UNCOUNTED_BYTES, this.#queue.size);
    try {
      this.#lease.resize(bytes > UNCOUNTED_BYTES ? bytes : 0);
    } catch (error) {
      void this.#refuse(error);
      this.#drop(TRY_AGAIN_LATER, "Too many bytes are being received.");
      this.#port.pause();
    }
  }

  /** Assigns queued messages to their lanes until all are answered, unless it is already running. */
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

  /** Assigns a message to its lane. Resolves when the next message may be read. Never rejects. */
  async #assign(message: string): Promise<void> {
    // While there are lanes, the message counts as waiting until it is assigned: otherwise more messages would be read
    // than may wait.
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

  /** Reads a message. Undefined: it has been answered, or needs no answer. Never rejects. */
  async #read(message: string): Promise<SocketMessage | undefined> {
    let read: SocketMessage;
    try {
      read = await readMessage(message, this.#context.maxBodyBytes, this.#context.pause);
      // A request is checked where its schema is read. Input that nests deeply cannot even be returned.
      if (read.type === STEER) checkLimits(read.value, this.#context.limits);
    } catch (error) {
      if (!this.#abort.signal.aborted) await this.#refuseMessage(error, readLane(message));
      return undefined;
    }
    if (this.#abort.signal.aborted) return undefined;
    this.#refused = 0;
    if (read.type === CREATE) return read;
    if (read.type === STEER) await this.#steer(read);
    // Clients send other messages as hints; Codex drops a connection that answers one with an error.
    else this.#ignore(read.type);
    return undefined;
  }

  /** Answers the requests of a lane until none waits. Never rejects. */
  async #run(message: string, first: SocketMessage): Promise<void> {
    const { lane: name } = first;
    const lane: Lane = { name, waiting: [], steered: undefined };
    this.#lanes.set(name, lane);
    await this.#answer(message, first, lane);
    for (let next = lane.waiting.shift(); next !== undefined; next = lane.waiting.shift()) {
      this.#release(next);
      // Waiting messages are held as text, because parsed values take several times as much memory.
      const read = await this.#read(next);
      if (read !== undefined) await this.#answer(next, read, lane);
    }
    this.#lanes.delete(name);
    this.#changed?.resolve();
  }

  /** Answers a request, and continues its response with the input that arrived meanwhile. Never rejects. */
  async #answer(message: string, read: SocketMessage, lane: Lane): Promise<void> {
    let asked: Asked | undefined = await this.#withWaiting({ message, read, lane });
    while (asked !== undefined && !this.#abort.signal.aborted) {
      await this.#answerOne(asked);
      const steered = takeSteered(lane);
      if (steered === undefined) return;
      const { responseId, steers } = steered;
      const members = { previous_response_id: responseId, input: steers.flatMap(toItems) };
      asked = await this.#reread({ message, read, lane }, steers, members);
    }
  }

  /** Puts input that has waited for the request before the request's own input. */
  async #withWaiting(asked: Asked): Promise<Asked> {
    const { previous, value } = asked.read;
    const steers = previous === undefined ? [] : this.#steers.takeWaiting(previous);
    if (steers.length === 0) return asked;
    const input = [...steers.flatMap(toItems), ...toInput(Reflect.get(value, "input"))];
    const reread = await this.#reread(asked, steers, { input });
    return reread ? { ...reread, isSuccessor: false } : asked;
  }

  /** Replaces members of the request. Undefined: the request cannot be read, and the client has its input back. */
  async #reread(
    { message, lane }: Asked,
    steers: readonly Steer[],
    members: object,
  ): Promise<Asked | undefined> {
    const { maxBodyBytes, pause } = this.#context;
    try {
      const text = withMembers(message, members);
      const read = await readMessage(text, maxBodyBytes, pause);
      return { message: text, read, lane, steers, isSuccessor: true };
    } catch {
      await this.#sendFailed(steers, lane);
      return undefined;
    }
  }

  /** Never rejects. */
  async #answerOne(asked: Asked): Promise<void> {
    const id = `${this.#caller.requestId}-${++this.#requests}`;
    const { headers } = this.#caller;
    const end = this.#context.beginMessage(id, PATH, this.#caller);
    await traceMessage({ id, route: PATH, headers }, async () => {
      const ending = await this.#respond(asked, id);
      end(ending);
      return ending.status;
    });
  }

  #steer({ previous = "", value }: SocketMessage): Promise<void> {
    const { event, lane } = this.#steers.add(previous, Reflect.get(value, "input"));
    return this.#port.send(withLane(JSON.stringify(event), lane));
  }

  async #sendFailed(steers: readonly Steer[], lane: Lane): Promise<void> {
    for (const steer of steers) {
      const event = failed(steer, "successor_creation_failed");
      await this.#port.send(withLane(JSON.stringify(event), lane.name));
    }
  }

  /** Hands the input of an ended response to a successor, keeps it for the client, or returns it. */
  async #endSteering({ id, builder }: PreparedResponse, lane: Lane): Promise<void> {
    const steers = this.#steers.end(id);
    if (steers.length === 0 || this.#abort.signal.aborted) return;
    const { status, incomplete_details: details } = builder.response();
    const canGoOn = status === "completed" || details?.reason === "steered";
    if (!canGoOn || this.#ending !== undefined) return this.#sendFailed(steers, lane);
    const required = requiredInput(builder.output);
    if (required.length === 0) {
      lane.steered = { responseId: id, steers };
      return;
    }
    for (const event of this.#steers.wait(id, steers, required)) {
      await this.#port.send(withLane(JSON.stringify(event), lane.name));
    }
  }

  /** Ignores a message. Only the first is logged, because any number may arrive. */
  #ignore(type: string): void {
    const id = `${this.#caller.requestId}-${++this.#requests}`;
    if (!this.#hasIgnored)
      this.#context.log.info("message ignored", { id, type: toPlausibleName(type) });
    this.#hasIgnored = true;
  }

  /** Never rejects. */
  async #respond(
    { message, read, lane, steers = [], isSuccessor = false }: Asked,
    id: string,
  ): Promise<MessageEnding> {
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
      await this.#sendFailed(steers, lane);
      if (!isSuccessor) await this.#refuse(error, lane.name);
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
    const prepared = this.#steerable(await prepareResponse(read, caller, context), body, lane);
    try {
      const streamed = withEvents(prepared, context);
      const produced = streamResponse(streamed, runResponse(prepared, context, signal), context);
      const begun = await untilBegun(produced, { patienceMs: context.keepAliveMs, signal });
      const fail = (error: unknown) => this.#fail(error, requestId);
      const events = withFailure(begun, streamed, context, { signal, fail });
      exchange?.respond(SWITCHING, NO_HEADERS);
      await this.#send(events, streamed.writer, { lane, exchange });
    } finally {
      await this.#endSteering(prepared, lane);
    }
  }

  /** Makes the turn end after the result of a call once input has arrived. */
  #steerable(prepared: PreparedResponse, body: ReadBody, { name }: Lane): PreparedResponse {
    const { id, purpose, turn, compaction, context } = prepared;
    const { gatewayTools } = turn;
    const canEnd = purpose === "answer" && gatewayTools !== undefined && compaction === undefined;
    const isSteered = canEnd && context.conversation === undefined;
    const room = this.#context.maxBodyBytes - body.length;
    this.#steers.begin(id, { lane: name, isSteered, room });
    if (!isSteered) return prepared;
    const isInterrupted = () => this.#steers.isWanted(id);
    return { ...prepared, turn: { ...turn, gatewayTools: { ...gatewayTools, isInterrupted } } };
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

  /** Sends the events of a response, and keep-alive events between them. */
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

/** A request of a lane. */
interface Asked {
  readonly message: string;
  readonly read: SocketMessage;
  readonly lane: Lane;
  /** Input of an earlier response, which the request contains. */
  readonly steers?: readonly Steer[];
  /** The gateway made the request, not the client. */
  readonly isSuccessor?: boolean;
}

interface Creation extends Pick<Asked, "lane"> {
  readonly id: string;
  readonly exchange: OpenExchange | undefined;
  readonly ending: MessageEnding;
}

function takeSteered(lane: Lane): Steered | undefined {
  const { steered } = lane;
  lane.steered = undefined;
  return steered;
}

function toItems({ items }: Steer): Steer["items"] {
  return items;
}

function toInput(input: unknown): readonly unknown[] {
  if (typeof input === "string") return [{ type: "message", role: "user", content: input }];
  return Array.isArray(input) ? input : [];
}

/** Adds the lane's name, if the client has named one. */
function withLane(json: string, lane: string | undefined): string {
  return lane === undefined ? json : `${json.slice(0, -1)},"stream_id":${JSON.stringify(lane)}}`;
}
