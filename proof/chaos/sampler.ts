/**
 * Loaded into the gateway's process before it starts (`node --import`): reports the process's resources, and how long
 * its event loop is blocked. Its clock can be set, as that of a machine can.
 */
import type { Sample, SamplerMessage } from "./sample.ts";

const EVERY_MS = 10;

/** Shorter blocks are not reported. */
let longestMs = 20;
let usedMs = 0;

/** Offset of the process's clock to the machine's. */
let aheadMs = 0;
const machineNow = Date.now.bind(Date);
Date.now = () => machineNow() + aheadMs;
globalThis.Date = new Proxy(Date, {
  construct: (target, args, newTarget) =>
    Reflect.construct(target, args.length === 0 ? [target.now()] : args, newTarget),
});

process.on("message", (message) => {
  if (typeof message === "number") aheadMs += message;
  if (message === "watch") watchLoop();
  if (message === "sample") void tellSample();
});
// The channel must not keep the process alive.
process.channel?.unref();

function tell(message: SamplerMessage): void {
  process.send?.(message);
}

async function tellSample(): Promise<void> {
  tell({ type: "sample", sample: await sample() });
  // The garbage collection was requested here.
  usedMs = threadMs();
}

/** Measured by the thread's CPU time between two ticks, not by wall time, which includes other load on the machine. */
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
  for (let times = 0; times < 2; times++) {
    globalThis.gc?.();
    await new Promise((resolve) => {
      setTimeout(resolve, 20).unref();
    });
  }
  // Measured at once: in 20 ms a flood leaves 20 MB of garbage.
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  const resources: Record<string, number> = {};
  for (const kind of process.getActiveResourcesInfo()) {
    resources[kind] = (resources[kind] ?? 0) + 1;
  }
  return { heapBytes: heapUsed, externalBytes: external, resources };
}
