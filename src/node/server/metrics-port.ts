/** The setting `metricsPort`: a second port with the state of this process, where several share the first one. */
import type { Settings } from "../../config/settings.ts";
import type { Shutdown } from "../../models/shutdown.ts";
import type { FetchHandler } from "./direct-sse.ts";
import { listen } from "./listen.ts";

const PATHS: ReadonlySet<string> = new Set(["/metrics", "/health", "/ready"]);

export interface MetricsPort {
  /** Undefined: there is none. */
  readonly port: number | undefined;
  /** Closes it at once: a scrape in flight is not waited for. */
  close(): Promise<void>;
}

/** @throws ListenError */
export async function openMetricsPort(
  { host, metricsPort: port, clientIdleTimeoutMs }: Settings,
  handler: FetchHandler,
  shutdown: Shutdown,
): Promise<MetricsPort> {
  if (port === undefined) return { port: undefined, close: async () => {} };
  const only: FetchHandler = (request, env) =>
    PATHS.has(new URL(request.url).pathname)
      ? handler(request, env)
      : new Response("Not Found\n", { status: 404 });
  const listening = await listen(only, {
    host,
    port,
    portFlag: "--metrics-port",
    clientIdleTimeoutMs,
    shutdown,
  });
  return { port: listening.port, close: () => listening.close(0) };
}
