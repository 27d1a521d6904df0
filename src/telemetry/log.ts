/** The log: JSON lines with a time, a level, an event and its fields, without text by users or models. */

const LOG_LEVELS = ["error", "warn", "info", "debug"] as const;

export type LogLevel = (typeof LOG_LEVELS)[number];

/** Values are printed as JSON; undefined ones are left out. */
export type LogFields = Readonly<Record<string, unknown>>;

export type Log = Readonly<Record<LogLevel, (event: string, fields?: LogFields) => void>>;

export interface LogOptions {
  /** The least important level that is written. */
  readonly level: LogLevel | "silent";
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Writes one line, given without its line break. */
  readonly write: (line: string) => void;
}

export function createLog(options: LogOptions): Log {
  const most = options.level === "silent" ? -1 : LOG_LEVELS.indexOf(options.level);
  const at = (level: LogLevel) => {
    if (LOG_LEVELS.indexOf(level) > most) return () => {};
    return (event: string, fields: LogFields = {}) => {
      const time = new Date(options.now()).toISOString();
      options.write(JSON.stringify({ time, level, event, ...fields }));
    };
  };
  return { error: at("error"), warn: at("warn"), info: at("info"), debug: at("debug") };
}
