/** The client of a request, and Hono's environment for the routes that serve it. */
import type { Models } from "../../models/models.ts";
import type { MediaCounts } from "../media/media-counts.ts";
import type { SseBindings, SseVariables } from "../reply/event-stream.ts";

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
