/** Describes failures of MCP servers: a safe message for the model and the client, and the details for the operator. */
import { McpUnavailable } from "../../tools/mcp/connection.ts";
import { FetchRefused } from "../../tools/browser/url-policy.ts";

export interface McpFailure {
  /** Message for the model and the client, without details about the gateway's network or machine. */
  readonly text: string;
  /** The HTTP status, if there was a response. */
  readonly status?: number;
  /** The JSON-RPC error code, if the server answered with an error. */
  readonly code?: number;
}

const MAX_MESSAGE = 500;

/** Maximum depth of wrapped errors that are inspected. */
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

/** All details, for the log. */
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
  if (error instanceof McpUnavailable) return { text };
  if (error instanceof FetchRefused) return { text: `It is not connected to: ${text}.` };
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
