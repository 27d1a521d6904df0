/** The log: events with a level and fields, without text of users or models. By default the entries are JSON lines. */

const LOG_LEVELS = ["error", "warn", "info", "debug"] as const;

export type LogLevel = (typeof LOG_LEVELS)[number];

/** Fields of an entry. Values are printed as JSON; undefined ones are left out. */
export type LogFields = Readonly<Record<string, unknown>>;

export type Log = Readonly<Record<LogLevel, (event: string, fields?: LogFields) => void>>;

export interface LogOptions {
  /** The least important level that is written. */
  readonly level: LogLevel | "silent";
  /** Time in milliseconds since 1970. */
  readonly now: () => number;
  /** Writes one line, without a line break at its end. */
  readonly write: (line: string) => void;
}

/** A log of JSON lines. */
export function createLog({ level: least, now, write }: LogOptions): Log {
  return createLogWith(least, ({ level, event, fields }) => {
    const time = new Date(now()).toISOString();
    write(JSON.stringify({ time, level, event, ...fields }));
  });
}

export interface LogEntry {
  readonly level: LogLevel;
  readonly event: string;
  readonly fields: LogFields;
}

/** A log of any form: receives the entries of at least this level. */
export function createLogWith(least: LogOptions["level"], receive: (entry: LogEntry) => void): Log {
  const most = least === "silent" ? -1 : LOG_LEVELS.indexOf(least);
  const at = (level: LogLevel) => {
    if (LOG_LEVELS.indexOf(level) > most) return () => {};
    return (event: string, fields: LogFields = {}) => receive({ level, event, fields });
  };
  return { error: at("error"), warn: at("warn"), info: at("info"), debug: at("debug") };
}
