/** Loaded into the gateway's process before it starts (`node --import`): answers with what that process holds. */
import type { Sample } from "./sample.ts";

process.on("message", (message) => {
  if (message === "sample") void sample().then((each) => process.send?.(each));
});
// Whoever asks must not keep the process alive.
process.channel?.unref();

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
