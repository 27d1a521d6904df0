/** A server's own description, for the log. */
import * as z from "zod";

import { EngineError } from "./engine-error.ts";
import type { Server } from "./server.ts";

const answer = z.lazy(() => z.object({ version: z.string() }));

/** `vllm 0.14.1`, or the name alone if the server does not tell its version. */
export async function describe(
  server: Server,
  name: string,
  path: string,
  signal: AbortSignal,
): Promise<string> {
  const found = answer.safeParse(await askOptional(server, path, signal));
  return withVersion(name, found.data?.version);
}

/** The version is the server's word, for the log. */
const MAX_VERSION_CHARS = 100;

export function withVersion(name: string, version: string | null | undefined): string {
  return version == null ? name : `${name} ${version.slice(0, MAX_VERSION_CHARS)}`;
}

/** The JSON answer to an optional query. Undefined if the server refuses or fails. */
export async function askOptional(
  server: Server,
  path: string,
  signal: AbortSignal,
): Promise<unknown> {
  try {
    return await server.get(path, signal);
  } catch (error) {
    if (error instanceof EngineError) return undefined;
    throw error;
  }
}
