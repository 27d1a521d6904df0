/** Classifies an error: whether it is evidence against the backend, and whether a retry may help. */
import { EngineError, type EngineErrorKind } from "../engine-error.ts";

export type ErrorClass =
  /** Every backend would refuse the request. */
  | "refusal"
  /** The backend is overloaded or limits the rate. */
  | "busy"
  /** The backend refuses the key or does not know the model: the operator must fix it. */
  | "misconfigured"
  /** The backend could not be reached, or never began to answer: evidence about the backend. */
  | "unreached"
  /** The backend answered with an error: the backend or the request may be the cause. */
  | "failed";

/** `internal`: a failure of the gateway, not of the engine. */
export type FailureKind = EngineErrorKind | "internal";

/** @param began whether tokens had arrived before the error. */
export function classifyError(error: unknown, began: boolean): ErrorClass {
  if (!(error instanceof EngineError)) return "failed";
  switch (error.kind) {
    case "bad-request":
    case "context-length":
    case "tenant-limit":
      return "refusal";
    case "overloaded":
    case "loading":
    case "rate-limit":
      return "busy";
    case "auth":
    case "not-found":
      return "misconfigured";
    case "unreachable":
    case "unavailable":
      return "unreached";
    case "timeout":
      // With a status, the server itself answered: 408 or 504.
      return began || error.status !== undefined ? "failed" : "unreached";
    case "closed":
    case "server-error":
      return "failed";
    default:
      return error.kind satisfies never;
  }
}

const WORDS: Readonly<Record<EngineErrorKind | "internal", string>> = {
  unreachable: "it cannot be reached",
  unavailable: "it is not available",
  timeout: "it does not answer in time",
  overloaded: "it is overloaded",
  loading: "its model is being loaded",
  "rate-limit": "it is rate limited",
  "tenant-limit": "a key has reached its limit",
  auth: "it refuses the gateway's key",
  "not-found": "it does not know the model or the path",
  "context-length": "it refuses a prompt as too long",
  "bad-request": "it refuses a request",
  "server-error": "it fails",
  closed: "it breaks connections",
  internal: "the gateway failed to send a request to it",
};

/** A failure kind as a clause for messages: `it cannot be reached`. */
export function describeKind(kind: EngineErrorKind | "internal"): string {
  return WORDS[kind];
}
