import type { RequestBody } from "../../src/engines/transport.ts";

/** The text of a body sent to an engine. */
export function requestText(body: RequestBody = ""): string {
  return typeof body === "string" ? body : new TextDecoder("utf-8", { fatal: true }).decode(body);
}
