/** The HTTP client for engines on Node, Deno and Bun. */
import { createFetchTransport } from "../../engines/fetch-transport.ts";
import { createUndiciTransport, type UndiciTransport } from "./undici-transport.ts";

/** Bun replaces undici with a module of its own, which has `fetch` but no dispatcher. */
export function createEngineTransport(): UndiciTransport {
  if (process.versions["bun"] === undefined) return createUndiciTransport();
  return Object.assign(createFetchTransport(), { close: doNothing, destroy: doNothing });
}

async function doNothing(): Promise<void> {}
