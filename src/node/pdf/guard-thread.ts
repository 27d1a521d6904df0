/**
 * The thread that watches the process that reads a PDF, because pdf.js may block the main thread for seconds. It kills the
 * process at the limit of memory, of which V8's limit covers only a part, and when the gateway has ended.
 *
 * Started by `pdf-process.ts`.
 */
import { workerData } from "node:worker_threads";

const gatewayPid: number = workerData;

/** Maximum resident memory. A book of 300 pages takes 150 MB, a file of 24 MB 185. */
const MAX_RESIDENT_BYTES = 400_000_000;
/** Interval of checks. A stream that expands takes a few megabytes in this time. */
const INTERVAL_MS = 20;

setInterval(() => {
  // Windows keeps the parent's id, but ends the process with its parent.
  const isOrphan = process.ppid !== gatewayPid;
  if (isOrphan || process.memoryUsage.rss() > MAX_RESIDENT_BYTES) {
    process.kill(process.pid, "SIGKILL");
  }
}, INTERVAL_MS);
