/** Stops a program that leads a process group, together with everything that it has started. */
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { waitAtMost } from "../../streams/timers.ts";

/**
 * Closes its stdin, then asks it to end, then kills it, each after so many milliseconds. Resolves when it has exited and the
 * rest of its group is killed.
 */
export async function stopTree(child: ChildProcess, patienceMs: number): Promise<void> {
  const { pid } = child;
  if (pid === undefined) return;
  const hasExited = child.exitCode !== null || child.signalCode !== null;
  const exited = hasExited ? Promise.resolve() : once(child, "exit").then(() => undefined);
  child.stdin?.end();
  await waitAtMost(exited, patienceMs);
  signalGroup(child, pid, "SIGTERM");
  await waitAtMost(exited, patienceMs);
  signalGroup(child, pid, "SIGKILL");
  await exited;
  child.stdin?.destroy();
  child.stdout?.destroy();
}

function signalGroup(child: ChildProcess, pid: number, signal: "SIGTERM" | "SIGKILL"): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // Nothing of the group is left, or the system has no groups.
    child.kill(signal);
  }
}
