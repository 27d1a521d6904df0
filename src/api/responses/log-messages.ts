/** Logs and audits each message of a WebSocket like a request. */
import type { Audit } from "../../telemetry/audit.ts";
import { toClientName } from "../../telemetry/client-name.ts";
import type { Log } from "../../telemetry/log.ts";
import { describeError, RequestError } from "../errors.ts";
import type { MediaCounts } from "../media/media-counts.ts";

interface MessageSender {
  readonly client: { readonly tenant: string };
  /** Headers of the request that opened the connection. */
  readonly headers: Headers;
}

export interface MessageEnding {
  /** The HTTP status for the same outcome. */
  status: number;
  error?: unknown;
  media?: MediaCounts;
}

/** Called when a message has been read. Returns the function that logs and audits its end. */
export type BeginMessage = (
  id: string,
  route: string,
  sender: MessageSender,
) => (ending: MessageEnding) => void;

/**
 * @param clock in milliseconds.
 * @param audit undefined: nothing is audited.
 */
export function logMessages(log: Log, clock: () => number, audit: Audit | undefined): BeginMessage {
  return (id, route, { client: { tenant }, headers }) => {
    const started = clock();
    const client = toClientName(headers.get("user-agent") ?? undefined);
    const endAudit = audit?.beginRequest(id);
    return ({ status, error, media }) => {
      const fields = { method: "WEBSOCKET", route, status, ms: clock() - started };
      endAudit?.({
        ...fields,
        key: tenant,
        client: client ?? null,
        error: error === undefined ? null : describeError(error).errorType,
        effort: null,
        reasoning: null,
        media,
      });
      const reason = error instanceof RequestError ? error.reason : undefined;
      log.info("request", { id, ...fields, tenant, client, reason });
    };
  };
}
