/** Measures a process of workerd from outside. Linux only. */
import { readdirSync, readFileSync } from "node:fs";
import { z } from "zod";

/** CPU time of all its threads so far, in milliseconds. */
export function cpuMs(pid: number): number {
  const tasks = `/proc/${pid}/task`;
  return readdirSync(tasks)
    .map((task) => Number(readFileSync(`${tasks}/${task}/schedstat`, "utf8").split(" ")[0]) / 1e6)
    .reduce((sum, each) => sum + each, 0);
}

/** Resident memory in megabytes: current and peak. */
export function residentMb(pid: number): { readonly now: number; readonly peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const read = (field: string) =>
    (Number(new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(status)?.[1]) * 1024) / 1e6;
  return { now: read("VmRSS"), peak: read("VmHWM") };
}

const heapUsage = z.object({
  result: z.object({ usedSize: z.number(), totalSize: z.number(), backingStorageSize: z.number() }),
});

/** The isolate's memory in megabytes: its heap and its array buffers. */
export async function isolateMb(inspector: string): Promise<number> {
  const socket = new WebSocket(`ws://${inspector}/main`);
  try {
    const answer = new Promise<string>((resolve, reject) => {
      socket.addEventListener("open", () => {
        socket.send(JSON.stringify({ id: 1, method: "Runtime.getHeapUsage" }));
      });
      socket.addEventListener("message", ({ data }) => resolve(String(data)));
      socket.addEventListener("error", () => reject(new Error("the debugger does not answer")));
    });
    const { usedSize, backingStorageSize } = heapUsage.parse(JSON.parse(await answer)).result;
    return (usedSize + backingStorageSize) / 1e6;
  } finally {
    socket.close();
  }
}
