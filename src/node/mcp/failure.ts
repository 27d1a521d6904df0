/** What the model and the client are told of an MCP server that fails, and what only the operator is told. */
import { McpUnavailable } from "../../tools/mcp/connection.ts";
import { FetchRefused } from "../../tools/browser/url-policy.ts";

export interface McpFailure {
  /** For the model and the client: nothing about the network or the machine that the gateway runs on. */
  readonly text: string;
  /** Of the HTTP answer, if it was one. */
  readonly status?: number;
  /** Of JSON-RPC, if the server has answered with an error. */
  readonly code?: number;
}

const MAX_MESSAGE = 500;

/** Errors that wrap others are looked into this deep. */
const MAX_CAUSES = 4;

export function describeFailure(error: unknown): McpFailure {
  let cause = error;
  for (let depth = 0; depth < MAX_CAUSES && cause instanceof Error; depth++) {
    const found = describeKnown(cause);
    if (found !== undefined) return found;
    ({ cause } = cause);
  }
  return { text: "It could not be reached, or does not answer as an MCP server." };
}

/** All of it, for the log. */
export function reasonOf(error: unknown): string {
  const reasons: string[] = [];
  let cause = error;
  for (let depth = 0; depth < MAX_CAUSES && cause instanceof Error; depth++) {
    reasons.push(cause.message.slice(0, MAX_MESSAGE));
    ({ cause } = cause);
  }
  return reasons.join(": ");
}

function describeKnown(error: Error): McpFailure | undefined {
  const { status, code }: { status?: unknown; code?: unknown } = Object(error);
  const text = error.message.slice(0, MAX_MESSAGE);
  if (error instanceof McpUnavailable || error instanceof FetchRefused) return { text };
  if (error.name === "TimeoutError" || code === "REQUEST_TIMEOUT") {
    return { text: "It did not answer in time." };
  }
  if (typeof status === "number") return { text: `It answered with status ${status}.`, status };
  if (typeof code === "number") return { text, code };
  if (error.name === "UnauthorizedError") {
    return { text: "It refused the credentials.", status: 401 };
  }
  return undefined;
}
