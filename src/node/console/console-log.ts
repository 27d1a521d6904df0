/** The log of a process: lines for people on a terminal, JSON lines anywhere else. */
import type { Settings } from "../../config/settings.ts";
import { createLog, createLogWith, type Log } from "../../telemetry/log.ts";
import type { LogOutput } from "./log-output.ts";
import { createReadable } from "./readable.ts";

/** Replaces the line that is being written. */
const RESTART_LINE = "\r\u001B[2K";

export function createConsoleLog(
  { log: level, logFormat }: Pick<Settings, "log" | "logFormat">,
  output: LogOutput,
  now: () => number = Date.now,
): Log {
  const isJson = logFormat === "json" || (logFormat === "auto" && !output.isTTY);
  const log = isJson
    ? createLog({ level, now, write: (line) => write(`${line}\n`) })
    : createReadableLog(level, { output, now, write });
  let reported = 0;
  return log;

  /** The first line that can be written again is followed by the number of those that could not. */
  function write(text: string): void {
    const lines = output.dropped - reported;
    if (!output.write(text) || lines === 0) return;
    reported += lines;
    log.warn("log lines dropped", { lines });
  }
}

interface ReadableLogOptions {
  readonly output: LogOutput;
  readonly now: () => number;
  readonly write: (text: string) => void;
}

function createReadableLog(
  level: Settings["log"],
  { output, now, write }: ReadableLogOptions,
): Log {
  const isTerminal = output.isTTY;
  const toText = createReadable({
    colour: isTerminal && output.hasColors(),
    columns: () => (isTerminal ? (output.columns ?? 80) : Infinity),
  });
  let isOpen = false;
  return createLogWith(level, (entry) => {
    const { text, isProgress = false } = toText(entry, new Date(now()));
    if (text === "") return;
    const start = isOpen ? RESTART_LINE : "";
    isOpen = isTerminal && isProgress;
    // A longer line would wrap, and could not be replaced.
    const shown = isOpen ? text.slice(0, Math.max(0, (output.columns ?? 80) - 1)) : `${text}\n`;
    write(start + shown);
  });
}
