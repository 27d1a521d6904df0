/** The log of a process: lines for people on a terminal, JSON lines anywhere else. */
import type { Settings } from "../../config/settings.ts";
import { createLog, createLogWith, type Log, type LogEntry } from "../../telemetry/log.ts";
import { visible } from "../cli/control-signs.ts";
import type { LogOutput } from "./log-output.ts";
import { createPaint } from "./paint.ts";
import { createReadable } from "./readable.ts";

/** Escape sequence that clears the current line. */
const RESTART_LINE = "\r\u001B[2K";

/** Levels that show more than warnings and errors. */
const TALKATIVE: ReadonlySet<Settings["log"]> = new Set(["info", "debug"]);

/** Output of a terminal beside the log. */
export interface Terminal {
  /** Shows lines that are not part of the log. */
  print(text: string): void;
  /** Keeps one line below all others. Empty: none. */
  setStatus(text: string): void;
  /** Switches between all levels and the level of the settings. Returns the current one. */
  toggleDebug(): boolean;
}

export interface ConsoleLog {
  readonly log: Log;
  /** Undefined: the output is not a terminal, the format is JSON, or only warnings and errors are shown. */
  readonly terminal: Terminal | undefined;
}

export function createConsoleLog(
  { log: level, logFormat }: Pick<Settings, "log" | "logFormat">,
  output: LogOutput,
  now: () => number = Date.now,
): ConsoleLog {
  const isJson = logFormat === "json" || (logFormat === "auto" && !output.isTTY);
  const { log, terminal } = isJson
    ? { log: createLog({ level, now, write: (line) => write(`${line}\n`) }), terminal: undefined }
    : createReadableLog(level, { output, now, write });
  let reported = 0;
  return { log, terminal };

  /** The first line after dropped ones is followed by their number. */
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
): ConsoleLog {
  const isTerminal = output.isTTY;
  const hasColour = isTerminal && output.hasColors();
  const painted = createPaint(hasColour);
  const toText = createReadable({
    colour: hasColour,
    columns: () => (isTerminal ? (output.columns ?? 80) : Infinity),
  });
  const all = createLogWith("debug", show);
  const least = createLogWith(level, show);
  let isDebug = false;
  /** The cursor is at the end of a line that the next line replaces. */
  let isOpen = false;
  let status = "";
  const log: Log = {
    error: (...entry) => (isDebug ? all : least).error(...entry),
    warn: (...entry) => (isDebug ? all : least).warn(...entry),
    info: (...entry) => (isDebug ? all : least).info(...entry),
    debug: (...entry) => (isDebug ? all : least).debug(...entry),
  };
  if (!isTerminal || !TALKATIVE.has(level)) return { log: least, terminal: undefined };
  return {
    log,
    terminal: {
      // Engines choose the names of models and some other words.
      print: (text) => writeLine(`${visible(text)}\n`),
      setStatus(text) {
        if (text === status) return;
        status = text;
        // The status holds no information that is lost: it does not count as a dropped line.
        output.rewrite((isOpen ? RESTART_LINE : "") + toStatus());
        isOpen = status !== "";
      },
      toggleDebug: () => (isDebug = !isDebug),
    },
  };

  function show(entry: LogEntry): void {
    const { text, isProgress = false } = toText(entry, new Date(now()));
    if (text === "") return;
    if (!isTerminal || !isProgress) return writeLine(`${text}\n`);
    write((isOpen ? RESTART_LINE : "") + fit(text));
    isOpen = true;
  }

  function writeLine(line: string): void {
    write((isOpen ? RESTART_LINE : "") + line + toStatus());
    isOpen = status !== "";
  }

  function toStatus(): string {
    return status === "" ? "" : painted("dim", fit(status));
  }

  /** A longer line would wrap, and could not be replaced. */
  function fit(text: string): string {
    return text.slice(0, Math.max(0, (output.columns ?? 80) - 1));
  }
}
