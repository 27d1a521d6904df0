/**
 * Watches a process from outside: its memory, and its CPU time while it should be idle. The limits inside the process count
 * Python's allocations, and code may circumvent them.
 */
import type { ChildProcess } from "node:child_process";
import { readFile } from "node:fs/promises";

export interface ProcessLimits {
  readonly residentBytes: number;
  /** Maximum CPU time between two calls. */
  readonly idleCpuMs: number;
}

export interface ProcessWatch {
  /** Marks the process as idle or busy. A new process is idle. */
  setIdle(isIdle: boolean): void;
  end(): void;
}

interface WatchHandlers {
  readonly onMemory: () => void;
  readonly onBusy: () => void;
}

const INTERVAL_MS = 200;
const LINUX_PAGE_BYTES = 4096;
/** Linux counts time in hundredths of a second, on every architecture. */
const LINUX_TICK_MS = 10;

/** Watches a process. On systems other than Linux it has no effect. */
export function watchProcess(
  { pid }: ChildProcess,
  { residentBytes, idleCpuMs }: ProcessLimits,
  { onMemory, onBusy }: WatchHandlers,
): ProcessWatch {
  if (process.platform !== "linux" || pid === undefined) return { setIdle() {}, end() {} };
  let isIdle = true;
  /** CPU time used before the process became idle. */
  let usedBefore: number | undefined;

  async function check(): Promise<void> {
    const fields = await readFields(`/proc/${pid}/stat`);
    if (Number(fields[RESIDENT_PAGES] ?? 0) * LINUX_PAGE_BYTES > residentBytes) onMemory();
    const used = (Number(fields[USER_TICKS]) + Number(fields[SYSTEM_TICKS])) * LINUX_TICK_MS;
    if (!isIdle) return;
    usedBefore ??= used;
    if (used - usedBefore > idleCpuMs) onBusy();
  }

  const timer = setInterval(() => void check(), INTERVAL_MS);
  timer.unref();
  return {
    setIdle(now) {
      isIdle = now;
      usedBefore = undefined;
    },
    end: () => clearInterval(timer),
  };
}

/** Indexes of fields after the name, which may contain any character (`man proc`: minus three). */
const USER_TICKS = 11;
const SYSTEM_TICKS = 12;
const RESIDENT_PAGES = 21;

async function readFields(path: string): Promise<string[]> {
  const text = await readFile(path, "utf8").catch(() => "");
  return text.slice(text.lastIndexOf(")") + 2).split(" ");
}
