/** Requests `/health` continuously, in a separate thread, and keeps the longest response time. */
import { workerData } from "node:worker_threads";
import { setTimeout as pause } from "node:timers/promises";
import * as z from "zod";

const { origin, slowest } = z
  .object({ origin: z.string(), slowest: z.instanceof(SharedArrayBuffer) })
  .parse(workerData);

const EVERY_MS = 200;
const PATIENCE_MS = 120_000;

const slowestMs = new Float64Array(slowest);

for (;;) {
  const started = performance.now();
  const isWell = await fetch(`${origin}/health`, { signal: AbortSignal.timeout(PATIENCE_MS) }).then(
    async (response) => (await response.text()) !== "" && response.ok,
    (error: unknown) => {
      const cause = error instanceof Error ? (error.cause ?? error.message) : error;
      console.error(`/health, after ${Math.round(performance.now() - started)} ms:`, cause);
      return false;
    },
  );
  const ms = isWell ? performance.now() - started : Infinity;
  slowestMs[0] = Math.max(slowestMs[0] ?? 0, ms);
  await pause(EVERY_MS);
}
