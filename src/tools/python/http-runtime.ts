/**
 * Runs Python in a remote sandbox, with one HTTP request per call.
 *
 * `POST url` with `{session, call, code, timeout_ms}` is answered by `{status, output, files?, withheld?, restarted?}`:
 * `status` is a `PythonStatus`; `files` have `path` below `/mnt/data` and `base64`; `restarted`: the session was
 * unknown although `call` is greater than 1. A session begins with the first request that names it. It ends when the
 * sandbox has not received a call for a while, or by `DELETE url/session`. 429 and 503 mean that there is no capacity.
 * The operator's key is sent as a bearer token.
 */
import * as z from "zod";
import { lazy } from "../../lazy.ts";
import { withDeadline } from "../../streams/follow-signal.ts";
import { boundText, MAX_OUTPUT } from "../bounded-text.ts";
import { readBounded } from "../read-bounded.ts";
import { shortList } from "../short-list.ts";
import {
  FILE_LIMITS,
  type PythonOutcome,
  type PythonRuntime,
  PythonUnavailable,
} from "./runtime.ts";

export interface HttpPythonOptions {
  readonly url: string;
  readonly key?: string | undefined;
  readonly timeoutMs: number;
  /** Returns unguessable letters and digits. */
  readonly newId: () => string;
  readonly fetch: typeof fetch;
}

/** Backstop for a sandbox that does not answer; normally it enforces the time limit itself. */
const GRACE_MS = 10_000;
/** Maximum size of a response, in bytes. */
const MAX_BYTES = MAX_OUTPUT * 8 + FILE_LIMITS.allBytes * 2;

export function createHttpPython(options: HttpPythonOptions): PythonRuntime {
  const { url, key, timeoutMs, newId } = options;
  const headers = {
    "content-type": "application/json",
    ...(key !== undefined && { authorization: `Bearer ${key}` }),
  };

  async function run(session: string, call: number, code: string, signal: AbortSignal) {
    try {
      return await withDeadline(signal, timeoutMs + GRACE_MS, async (limited) => {
        const response = await options.fetch(url, {
          method: "POST",
          headers,
          body: JSON.stringify({ session, call, code, timeout_ms: timeoutMs }),
          redirect: "error",
          signal: limited,
        });
        return toOutcome(response);
      });
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof PythonUnavailable) throw error;
      throw new PythonUnavailable("The Python sandbox does not answer. Answer without Python.");
    }
  }

  async function end(session: string): Promise<void> {
    // A failure is ignored: the session also expires in the sandbox.
    await options
      .fetch(`${url.replace(/\/$/, "")}/${session}`, { method: "DELETE", headers })
      .then((response) => response.body?.cancel())
      .catch(() => undefined);
  }

  return {
    stateful: true,
    network: "unknown",
    packages: undefined,
    timeoutMs,
    async open({ tenant, id }) {
      // The sandbox does not know tenants, so the id is derived from the tenant: no tenant can name another's session.
      const prefix = await toPrefix(tenant);
      const resumed = id?.startsWith(prefix) === true;
      const session = resumed && id !== undefined ? id : prefix + newId();
      let calls = resumed ? 1 : 0;
      return {
        id: session,
        resumed,
        async run(code, signal) {
          try {
            return await run(session, ++calls, code, signal);
          } catch (error) {
            if (signal.aborted) await end(session);
            throw error;
          }
        },
        release: () => Promise.resolve(),
      };
    },
    close: () => Promise.resolve(),
  };
}

async function toOutcome(response: Response): Promise<PythonOutcome> {
  if (response.status === 429 || response.status === 503) {
    await response.body?.cancel();
    throw new PythonUnavailable("The Python sandbox has no room. Answer without Python.");
  }
  const bytes = await readBounded(response.body, MAX_BYTES);
  if (bytes === undefined) throw new PythonUnavailable("The Python sandbox answered too much.");
  const parsed = answer().safeParse(JSON.parse(new TextDecoder().decode(bytes)));
  if (!response.ok || !parsed.success) {
    throw new PythonUnavailable("The Python sandbox failed. Answer without Python.");
  }
  const { status, output, files, withheld, restarted } = parsed.data;
  return { status, output: boundText(output), files, withheld, restarted };
}

/** A short prefix of session ids, equal on every replica. */
async function toPrefix(tenant: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(tenant));
  return `${[...new Uint8Array(digest, 0, 6)].map((byte) => byte.toString(16).padStart(2, "0")).join("")}-`;
}

const answer = lazy(() =>
  z.object({
    status: z.enum(["ok", "exception", "timeout", "memory", "crash"]),
    output: z.string(),
    files: shortList(
      z.object({ path: z.string().max(1000), base64: z.base64() }),
      FILE_LIMITS.files,
    ).default([]),
    withheld: shortList(z.string().max(1000), 100).default([]),
    restarted: z.boolean().default(false),
  }),
);
