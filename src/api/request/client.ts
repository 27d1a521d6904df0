/** The client of a request, and Hono's environment for the routes that serve it. */
import type { Models } from "../../models/models.ts";
import type { MediaCounts } from "../media/media-counts.ts";
import type { SseBindings, SseVariables } from "../reply/event-stream.ts";
import { withPrivateTurns } from "../../models/private-turns.ts";
import { RequestError } from "../errors.ts";

/**
 * How chain of thought leaves the gateway: readable, encrypted for the client to send back, as a summary only, or not at
 * all.
 */
export type ReasoningPolicy = "raw" | "sealed" | "summary" | "none";

export interface KeyExpiry {
  /** Milliseconds since 1970. */
  readonly at: number;
  /** As the operator wrote it. */
  readonly text: string;
}

export interface Client {
  /**
   * Separates stores, caches and encrypted reasoning. The name of the key; `anonymous` if no keys are
   * configured.
   */
  readonly tenant: string;
  readonly reasoningPolicy: ReasoningPolicy;
  /** When its key stops working. Absent: never. */
  readonly expiry?: KeyExpiry;
  /** The models that it may use. Their turns are private if the client is. */
  readonly models: Models;
  /** Records, traces and logs leave out what it sends and gets. */
  readonly isPrivate?: boolean;
}

/** How the work for a response ended. It is held as long as the response, for which the context would hold the body. */
export interface Ending {
  /** Of a stream, it may come after the head. */
  error?: Error | undefined;
}

/** How a response ended. */
export interface SentResponse {
  readonly bytes: number;
  /** False: the client has left before its end. */
  readonly isComplete: boolean;
}

/** Hono's environment for every API route. */
export interface ApiEnv {
  /** What the runtime passes along with each request. */
  Bindings: SseBindings & {
    /** Calls the listener once, when the response has ended. Absent: the runtime does not report it. */
    afterResponse?: (listener: (sent: SentResponse) => void) => void;
  };
  /** Set by middleware: `client` by authentication, `requestId` and `ending` for every request. `media`: set by the APIs for a turn. */
  Variables: SseVariables & { client: Client; ending?: Ending; media?: MediaCounts };
}

/** The header by which a client keeps the content of one request out of records, traces and logs. */
export const RECORD_HEADER = "x-harmony-record";

/** Every turn that the client's models run is private, whichever API asks for it, and when. */
export function toPrivate(client: Client): Client {
  if (client.isPrivate) return client;
  return { ...client, isPrivate: true, models: withPrivateTurns(client.models) };
}

/** @param value of {@link RECORD_HEADER}. A value that has no effect is refused, since its sender relies on it. */
export function obeyRecordHeader(client: Client, value: string | undefined): Client {
  if (value === undefined) return client;
  if (value.trim().toLowerCase() === "off") return toPrivate(client);
  throw new RequestError(
    `The header ${RECORD_HEADER} has the value off, or is left out: there is no other value.`,
  );
}
