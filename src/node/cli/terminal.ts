/** Whether the terminal of this process has been closed: SIGHUP says both that, and that settings are to be read again. */
import { closeSync, openSync } from "node:fs";

export function hasLostTerminal(): boolean {
  if (!process.stdout.isTTY) return false;
  try {
    closeSync(openSync("/dev/tty", "r"));
    return false;
  } catch {
    return true;
  }
}
