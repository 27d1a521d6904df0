/** The client of a request, and Hono's environment for the routes that serve it. */
import type { SseBindings } from "./sse.ts";

/** Which chain of thought leaves the gateway: readable, sealed for the client to carry, or none. */
export type ReasoningPolicy = "raw" | "sealed" | "none";

export interface Client {
  /** Separates stores, caches and seals. The name of the key; `anonymous` where no keys are set. */
  readonly tenant: string;
  readonly reasoningPolicy: ReasoningPolicy;
}

/** Hono's environment for every API route. */
export interface ApiEnv {
  /** What the runtime hands in beside each request. */
  Bindings: SseBindings;
  /** Set by middleware: `client` by authentication, `requestId` for every request. */
  Variables: { client: Client; requestId: string };
}
