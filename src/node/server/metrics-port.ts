/** The setting `metricsPort`: a second port with the state of this process, for several processes that share the first port. */
import type { Settings } from "../../config/settings.ts";
import type { Shutdown } from "../../models/shutdown.ts";
import type { FetchHandler } from "./direct-sse.ts";
import { listen } from "./listen.ts";
import { performance } from "node:perf_hooks";
import type { Registry } from "../../telemetry/metrics.ts";

const PATHS: ReadonlySet<string> = new Set(["/metrics", "/health", "/ready"]);

interface MetricsPort {
  /** Undefined: there is no second port. */
  readonly port: number | undefined;
  /** Closes the port at once, without waiting for a scrape in flight. */
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

/** The first two metrics have the names of Prometheus' own clients. All are read at each scrape. */
export function registerProcessMetrics(registry: Registry, droppedLines: () => number): void {
  registry.readings(
    "process_cpu_seconds_total",
    "Processor time of this process, user and system.",
    "counter",
    () => {
      const { user, system } = process.cpuUsage();
      return [[{}, (user + system) / 1e6]];
    },
  );
  registry.readings(
    "process_resident_memory_bytes",
    "Resident memory of this process.",
    "gauge",
    () => [[{}, process.memoryUsage.rss()]],
  );
  registry.readings(
    "harmony_gateway_event_loop_active_seconds_total",
    "Time in which the event loop was not idle. A rate near 1 means that this process has no time left.",
    "counter",
    () => [[{}, performance.eventLoopUtilization().active / 1000]],
  );
  registry.readings(
    "harmony_gateway_log_lines_dropped_total",
    "Lines of the log that could not be written: the disk is full, or the reader is slow or has left.",
    "counter",
    () => [[{}, droppedLines()]],
  );
}
