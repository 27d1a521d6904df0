/** The log of a process: lines for people on a terminal, JSON lines anywhere else. */
import type { Settings } from "../../config/settings.ts";
import { createLog, createLogWith, type Log } from "../../telemetry/log.ts";
import { createReadable } from "./readable.ts";

/** The part of `process.stdout` that is needed. */
export interface Output {
  readonly isTTY?: boolean;
  readonly columns?: number;
  /** Knows `NO_COLOR`, `FORCE_COLOR` and `TERM`. */
  hasColors?(): boolean;
  write(text: string): unknown;
}

/** Replaces the line that is being written. */
const RESTART_LINE = "\r\u001B[2K";

export function createConsoleLog(
  { log: level, logFormat }: Pick<Settings, "log" | "logFormat">,
  output: Output,
  now: () => number = Date.now,
): Log {
  const isTerminal = output.isTTY === true;
  if (logFormat === "json" || (logFormat === "auto" && !isTerminal)) {
    return createLog({ level, now, write: (line) => output.write(`${line}\n`) });
  }
  const toText = createReadable({ colour: isTerminal && output.hasColors?.() === true });
  let isOpen = false;
  return createLogWith(level, (entry) => {
    const { text, isProgress = false } = toText(entry, new Date(now()));
    if (text === "") return;
    const start = isOpen ? RESTART_LINE : "";
    isOpen = isTerminal && isProgress;
    // A longer line would wrap, and could not be replaced.
    const shown = isOpen ? text.slice(0, Math.max(0, (output.columns ?? 80) - 1)) : `${text}\n`;
    output.write(start + shown);
  });
}
