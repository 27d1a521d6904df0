/** What an error says about the backend it came from, and about the use of asking another. */
import { EngineError, type EngineErrorKind } from "../engine-error.ts";

export type Verdict =
  /** It would be refused anywhere. */
  | "refusal"
  /** The backend asks to be spared for a while. */
  | "busy"
  /** It refuses our key or does not know the model: for the operator to set right. */
  | "misconfigured"
  /** It could not be reached, or never began to answer: evidence about the backend. */
  | "unreached"
  /** It has answered, but with an error: the backend or the request may be at fault. */
  | "failed";

/** @param began whether tokens had come before it. */
export function judge(error: unknown, began: boolean): Verdict {
  if (!(error instanceof EngineError)) return "failed";
  switch (error.kind) {
    case "bad-request":
    case "context-length":
    case "tenant-limit":
      return "refusal";
    case "overloaded":
    case "rate-limit":
      return "busy";
    case "auth":
    case "not-found":
      return "misconfigured";
    case "unreachable":
    case "unavailable":
      return "unreached";
    case "timeout":
      // With a status it is an answer of the server's own: 408 or 504.
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
  "rate-limit": "it limits the rate of requests",
  "tenant-limit": "a key's share is used up",
  auth: "it refuses the gateway's key",
  "not-found": "it does not know the model or the path",
  "context-length": "it refuses a prompt as too long",
  "bad-request": "it refuses a request",
  "server-error": "it fails",
  closed: "it breaks connections",
  internal: "the gateway failed to ask it",
};

/** A kind of failure for people: `it cannot be reached`. */
export function describeKind(kind: EngineErrorKind | "internal"): string {
  return WORDS[kind];
}
