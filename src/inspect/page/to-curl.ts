/** A recorded request as a command. The key is read from the environment. */
import type { TurnRecord } from "../../telemetry/record/schema.ts";

/** Undefined: the request, or its content, is not kept. */
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
    `curl ${quote(`${origin}${request.path}`)}`,
    ...headers.map((header) => `-H ${quote(header)}`),
    ...(hasKeys ? ['-H "authorization: Bearer $HARMONY_GATEWAY_KEY"'] : []),
    `-d ${quote(request.body)}`,
  ];
  return parts.join(" \\\n  ");
}

/** For a POSIX shell, whatever the text is. */
function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
