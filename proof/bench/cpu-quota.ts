/** Limits a process to a share of a core. Linux, as root, with the cpu controller of cgroups version 1. */
import { existsSync, mkdirSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const CONTROLLER = "/sys/fs/cgroup/cpu";
/** Short, so that a process waits for milliseconds when it has used its share, and not for a tenth of a second. */
const PERIOD_US = 10_000;

/** @returns ends the limit; the process must have ended. */
export function limitCpu(pid: number, cores: number): () => void {
  if (!existsSync(join(CONTROLLER, "cpu.cfs_quota_us"))) {
    throw new Error(`${CONTROLLER} is needed: the cpu controller of cgroups version 1.`);
  }
  const group = join(CONTROLLER, `bench-${pid}`);
  mkdirSync(group);
  writeFileSync(join(group, "cpu.cfs_period_us"), String(PERIOD_US));
  writeFileSync(join(group, "cpu.cfs_quota_us"), String(Math.round(PERIOD_US * cores)));
  writeFileSync(join(group, "cgroup.procs"), String(pid));
  return () => rmdirSync(group);
}
