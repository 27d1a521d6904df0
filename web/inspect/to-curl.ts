/** A recorded request as a command. The command reads the key from the environment. */
import { quoteShell } from "../../src/snippets/literals.ts";
import { KEY_VARIABLE } from "../../src/snippets/snippet.ts";
import type { TurnRecord } from "../../src/telemetry/record/schema.ts";

/** Undefined: the record has no request, or none of its content. */
export function toCurl(
  { request }: Pick<TurnRecord, "request">,
  origin: string,
  hasKeys: boolean,
): string | undefined {
  if (request === null || typeof request.body !== "string" || request.body === "") return undefined;
  const headers = ["content-type: application/json"];
  const version = request.headers["anthropic-version"];
  if (version !== undefined) headers.push(`anthropic-version: ${version}`);
  const parts = [
    `curl ${quoteShell(`${origin}${request.path}`)}`,
    ...headers.map((header) => `-H ${quoteShell(header)}`),
    ...(hasKeys ? [`-H "authorization: Bearer $${KEY_VARIABLE}"`] : []),
    `-d ${quoteShell(request.body)}`,
  ];
  return parts.join(" \\\n  ");
}
