/** Who is asking, as found by authentication, and what the middleware leaves for the routes. */
import type { SseSource } from "./sse.ts";

/** Which chain of thought leaves the gateway: readable, sealed for the client to carry, or none. */
export type ReasoningPolicy = "raw" | "sealed" | "none";

/**
 * How the Responses API names the events of reasoning: `response.reasoning_text.…`, which most clients read, or
 * `response.reasoning.…`, the spelling of Open Responses.
 */
export type ReasoningEvents = "reasoning_text" | "reasoning";

export interface Client {
  /** Separates stores, caches and seals. The name of the key; `anonymous` where no keys are set. */
  readonly tenant: string;
  readonly reasoningPolicy: ReasoningPolicy;
  /** Repeat reasoning as `reasoning_content`. */
  readonly mirrorReasoning: boolean;
  readonly reasoningEvents: ReasoningEvents;
}

/** Hono's environment for every API route. */
export interface ApiEnv {
  /** What the runtime hands in beside each request. */
  Bindings: {
    /** Writes the frames of this request's response by itself, faster than a web stream would. */
    takeFrames?: (source: SseSource) => void;
  };
  Variables: { client: Client; requestId: string };
}
