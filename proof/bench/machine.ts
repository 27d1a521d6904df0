/** The machine of a run, without which its numbers mean nothing. */
import { execFileSync } from "node:child_process";
import { cpus, loadavg, release, totalmem } from "node:os";

export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGb: number;
  readonly kernel: string;
  readonly node: string;
  readonly commit: string;
  readonly startedAt: string;
  /** Processes waiting for a core, averaged over a minute, before the run. Above 0: the machine was busy. */
  readonly loadBefore: number;
}

export function describeMachine(): Machine {
  const [first] = cpus();
  return {
    cpu: first?.model.trim() ?? "unknown",
    cores: cpus().length,
    memoryGb: Math.round(totalmem() / 1e9),
    kernel: release(),
    node: process.version,
    commit: readCommit(),
    startedAt: new Date().toISOString(),
    loadBefore: loadavg()[0] ?? NaN,
  };
}

function readCommit(): string {
  try {
    return execFileSync("git", ["describe", "--always", "--dirty"], { encoding: "utf8" }).trim();
  } catch {
    return "unknown";
  }
}
