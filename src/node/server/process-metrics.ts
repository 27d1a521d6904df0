/** What a process costs, as metrics: its processor time, its memory, and how busy its event loop is. */
import { performance } from "node:perf_hooks";
import type { Registry } from "../../telemetry/metrics.ts";

/** The first two have the names that Prometheus' own clients use. Read at each scrape. */
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
