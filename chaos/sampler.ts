/**
 * Loaded into the gateway's process before it starts (`node --import`): answers with what that process holds, and tells
 * how long its event loop is held.
 */
import type { Sample, SamplerMessage } from "./sample.ts";

const EVERY_MS = 10;

/** Nothing that is held for less is told. */
let longestMs = 20;
let usedMs = 0;

process.on("message", (message) => {
  if (message === "watch") watchLoop();
  if (message === "sample") void tellSample();
});
// Whoever asks must not keep the process alive.
process.channel?.unref();

function tell(message: SamplerMessage): void {
  process.send?.(message);
}

async function tellSample(): Promise<void> {
  tell({ type: "sample", sample: await sample() });
  // Collecting garbage was our own doing.
  usedMs = threadMs();
}

/**
 * By the time this thread has worked between two ticks, not by the time that has passed: on a machine with other things
 * to do, that would be theirs.
 */
function watchLoop(): void {
  usedMs = threadMs();
  setInterval(() => {
    const now = threadMs();
    const ms = now - usedMs;
    usedMs = now;
    if (ms <= longestMs) return;
    longestMs = ms;
    tell({ type: "hold", ms });
  }, EVERY_MS).unref();
}

function threadMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

async function sample(): Promise<Sample> {
  for (let times = 0; times < 3; times++) {
    globalThis.gc?.();
    await new Promise((resolve) => {
      setTimeout(resolve, 20).unref();
    });
  }
  const { heapUsed, external } = process.memoryUsage();
  const resources: Record<string, number> = {};
  for (const kind of process.getActiveResourcesInfo()) {
    resources[kind] = (resources[kind] ?? 0) + 1;
  }
  return { heapBytes: heapUsed, externalBytes: external, resources };
}
