/**
 * One WebSocket connection: `response.create` messages in, the events of their responses out, one response after the
 * other. Independent of the runtime: messages are passed in, and replies to a callback.
 */
import { consume } from "../../streams/push-stream.ts";
import type { OpenExchange } from "../../telemetry/record/recorder.ts";
import { describeError, RequestError } from "../errors.ts";
import { parseBody } from "../parse-request.ts";
import { untilBegun } from "../until-begun.ts";
import { createConnectionStore } from "./connection-store.ts";
import type { Caller, ResponsesContext } from "./context.ts";
import { prepareResponse } from "./create-response.ts";
import { toResponsesError } from "./errors.ts";
import { eventIntervalMs } from "./keep-alive.ts";
import type { EventWriter, ResponseEvent } from "./to-events.ts";
import { streamResponse, withEvents, withFailure } from "./stream-response.ts";

export interface SocketSession {
  /** Handles a text message; undefined for any other kind. Resolves when it has been answered. Never rejects. */
  receive(message: string | undefined): Promise<void>;
  /** The client has disconnected: stops the in-flight response. */
  leave(): void;
  /** Closes the connection as soon as no response is in flight, after an error if one is given. */
  finish(reason: string, error?: RequestError): void;
}

export interface SocketPort {
  /** Sends a text message. Resolves when there is room for the next one, or the client has disconnected. */
  send(message: string): Promise<void>;
  /** Pauses or resumes reading, so that TCP makes the client wait. No effect where the runtime cannot do it. */
  pause(): void;
  resume(): void;
  close(code: number, reason: string): void;
}

/** Queued requests at which reading pauses. */
const PAUSE_AT = 2;
/** Most queued requests where reading cannot be paused, or more had already been read. */
const MAX_WAITING = 32;

const BUSY = { status: 429, type: "rate_limit_error", errorType: "rate_limit_exceeded" } as const;

/** WebSocket close codes. */
const NORMAL = 1000;

export function createSocketSession(
  port: SocketPort,
  caller: Omit<Caller, "responses">,
  context: ResponsesContext,
): SocketSession {
  const responses = createConnectionStore(context.responses);
  const abort = new AbortController();
  let waiting: string[] = [];
  let waitingSize = 0;
  let isPaused = false;
  let requests = 0;
  let isBusy = false;
  let ending: { reason: string; error: RequestError | undefined } | undefined;

  return {
    async receive(message) {
      if (ending !== undefined || abort.signal.aborted) return;
      if (message === undefined) {
        await refuse(new RequestError("Messages must be JSON text."));
      } else if (isBusy && !hasRoomFor(message)) {
        await refuse(new RequestError("Too many requests are waiting. Wait for a response.", BUSY));
      } else {
        waiting.push(message);
        waitingSize += message.length;
        await work();
      }
    },
    leave() {
      dropWaiting();
      abort.abort();
    },
    finish(reason, error) {
      ending ??= { reason, error };
      dropWaiting();
      if (!isBusy) void end(ending);
    },
  };

  async function work(): Promise<void> {
    if (isBusy) {
      pauseWhenFull();
      return;
    }
    isBusy = true;
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      waitingSize -= next.length;
      pauseWhenFull();
      await answer(next);
    }
    isBusy = false;
    if (ending !== undefined) await end(ending);
  }

  function hasRoomFor(message: string): boolean {
    return waiting.length < MAX_WAITING && waitingSize + message.length <= context.maxBodyBytes;
  }

  function dropWaiting(): void {
    waiting = [];
    waitingSize = 0;
    pauseWhenFull();
  }

  /** Half of the limit, because a partially received message is read to its end. */
  function pauseWhenFull(): void {
    const isFull = waiting.length >= PAUSE_AT || waitingSize > context.maxBodyBytes / 2;
    if (isFull === isPaused) return;
    isPaused = isFull;
    if (isFull) port.pause();
    else port.resume();
  }

  async function end({ reason, error }: NonNullable<typeof ending>): Promise<void> {
    if (error) await refuse(error);
    port.close(NORMAL, reason);
  }

  /** Never rejects. */
  async function answer(message: string): Promise<void> {
    let previous: string | undefined;
    let exchange: OpenExchange | undefined;
    try {
      const read = readMessage(message, context.maxBodyBytes);
      const requestId = `${caller.requestId}-${++requests}`;
      // Clients send other messages as hints; Codex drops a connection that answers one with an error.
      if (read.type !== CREATE) return context.onIgnoredMessage(requestId, read.type);
      previous = read.previous;
      exchange = record(message, requestId);
      const pending = await prepareResponse(message, { ...caller, requestId, responses }, context);
      const streamed = withEvents(pending, context);
      const produced = streamResponse(streamed, context, abort.signal);
      const begun = await untilBegun(produced, {
        patienceMs: context.keepAliveMs,
        signal: abort.signal,
      });
      const events = withFailure(begun, streamed, context, abort.signal);
      exchange?.respond(SWITCHING, NO_HEADERS);
      await tell(events, streamed.writer, exchange);
    } catch (error) {
      exchange?.respond(describeError(error).status, NO_HEADERS);
      exchange?.refused(error instanceof Error ? error.message : "unknown");
      if (previous !== undefined) responses.evict(previous);
      if (!abort.signal.aborted) await refuse(error);
    } finally {
      exchange?.end();
    }
  }

  function record(message: string, id: string): OpenExchange | undefined {
    const { tenant, reasoningPolicy } = caller.client;
    return context.recorder?.begin({
      id,
      api: "responses",
      tenant,
      reasoningPolicy,
      method: "WEBSOCKET",
      path: "/v1/responses",
      headers: NO_HEADERS,
      body: message,
    });
  }

  /** Sends the events, and further ones while there are none. */
  async function tell(
    events: AsyncIterable<ResponseEvent>,
    writer: EventWriter,
    exchange: OpenExchange | undefined,
  ): Promise<void> {
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
    }, eventIntervalMs(context.keepAliveMs));
    try {
      await consume(events, send);
    } finally {
      clearInterval(keepAlive);
    }
  }

  function refuse(error: unknown): Promise<void> {
    const description = describeError(error);
    const { message, type, param, code } = toResponsesError(description);
    const { status, errorType } = description;
    // Unlike over HTTP, Open Responses always requires a code here.
    const detail = { type, code: code ?? errorType, message, param };
    return port.send(JSON.stringify({ type: "error", status, error: detail }));
  }
}

const CREATE = "response.create";
/** In records: the status of the connection. */
const SWITCHING = 101;
const NO_HEADERS = new Headers();

/** In characters: types are the client's. */
const LONGEST_TYPE = 64;

interface Message {
  readonly type: string;
  /** The response to continue. */
  readonly previous: string | undefined;
}

/** Checks the fields that only messages have. The rest of a message that creates a response is an ordinary request. */
function readMessage(message: string, maxBytes: number): Message {
  if (message.length > maxBytes) {
    throw new RequestError(`The message is larger than ${maxBytes} bytes.`, {
      status: 413,
      errorType: "payload_too_large",
    });
  }
  const members = new Map<string, unknown>(Object.entries(parseBody(message)));
  const type = members.get("type");
  if (typeof type !== "string") {
    throw new RequestError("type: must be a string, such as response.create", { param: "type" });
  }
  if (type !== CREATE) return { type: type.slice(0, LONGEST_TYPE), previous: undefined };
  if (members.get("background")) {
    throw new RequestError(
      "background: not supported on a WebSocket. Send the request over HTTP, or without background",
      {
        param: "background",
      },
    );
  }
  const previous = members.get("previous_response_id");
  return { type, previous: typeof previous === "string" ? previous : undefined };
}
