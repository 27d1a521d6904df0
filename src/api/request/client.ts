/** The client of a request, and Hono's environment for the routes that serve it. */
import type { Models } from "../../models/models.ts";
import type { MediaCounts } from "../media/media-counts.ts";
import type { SseBindings, SseVariables } from "../reply/event-stream.ts";
import { withPrivateTurns } from "../../models/private-turns.ts";
import { RequestError } from "../errors.ts";

/**
 * The form in which chain of thought leaves the gateway: readable, encrypted for the client to send back, as a summary
 * only, or not at all.
 */
export type ReasoningPolicy = "raw" | "sealed" | "summary" | "none";

export interface KeyExpiry {
  /** Milliseconds since 1970. */
  readonly at: number;
  /** The operator's text in the settings. */
  readonly text: string;
}

export interface Client {
  /**
   * The name of the key; `anonymous` if no keys are configured. It separates stores, caches and encrypted reasoning.
   */
  readonly tenant: string;
  readonly reasoningPolicy: ReasoningPolicy;
  /** Time at which the client's key expires. Absent: never. */
  readonly expiry?: KeyExpiry;
  /** The models that the client may use. Their turns are private if the client is. */
  readonly models: Models;
  /** Records, traces and logs omit the content of the client's requests and replies. */
  readonly isPrivate?: boolean;
}

/**
 * The outcome of the work for a response. It is retained as long as the response; the context would also retain the
 * body.
 */
export interface Ending {
  /** In a stream, the error may occur after the head. */
  error?: Error | undefined;
}

/** The outcome of sending a response. */
export interface SentResponse {
  readonly bytes: number;
  /** False: the client has left before its end. */
  readonly isComplete: boolean;
}

/** Hono's environment for every API route. */
export interface ApiEnv {
  /** Functions that the runtime passes with each request. */
  Bindings: SseBindings & {
    /** Calls the listener once, when the response has ended. Absent: the runtime does not report it. */
    afterResponse?: (listener: (sent: SentResponse) => void) => void;
  };
  /** Set by middleware: `client` by authentication, `requestId` and `ending` for every request. `media`: set by the APIs for a turn. */
  Variables: SseVariables & { client: Client; ending?: Ending; media?: MediaCounts };
}

/** The header by which a client keeps the content of one request out of records, traces and logs. */
export const RECORD_HEADER = "x-harmony-record";

/** Returns the client with all turns of its models private, for every API. */
export function toPrivate(client: Client): Client {
  if (client.isPrivate) return client;
  return { ...client, isPrivate: true, models: withPrivateTurns(client.models) };
}

/** @param value of {@link RECORD_HEADER}. Unknown values are refused, because their sender relies on an effect. */
export function obeyRecordHeader(client: Client, value: string | undefined): Client {
  if (value === undefined) return client;
  if (value.trim().toLowerCase() === "off") return toPrivate(client);
  throw new RequestError(
    `The header ${RECORD_HEADER} has the value off, or is left out: there is no other value.`,
  );
}
