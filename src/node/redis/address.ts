/** Parses the URL of a Redis server. */
import { SettingsError } from "../../config/resolve.ts";

export interface RedisAddress {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
  readonly username: string;
  readonly password: string;
  /** The number of the database, in digits. */
  readonly database: string;
  /** The URL without credentials. */
  readonly publicUrl: string;
}

const DEFAULT_PORT = 6379;

/** Parses the URL. @throws SettingsError without the URL, which may hold a password. */
export function parseRedisUrl(text: string): RedisAddress {
  const url = URL.parse(text);
  const username = decode(url?.username);
  const password = decode(url?.password);
  if (url === null || username === undefined || password === undefined || url.hostname === "") {
    throw new SettingsError([
      "store redis: the URL is not valid. Its form is redis://user:password@host:6379/0.",
    ]);
  }
  if (url.search !== "") {
    throw new SettingsError([
      "store redis: parameters after a question mark are not supported. A database is chosen by the path: redis://host:6379/1.",
    ]);
  }
  const database = url.pathname.slice(1);
  if (!/^\d{0,5}$/.test(database)) {
    throw new SettingsError([
      "store redis: the path of the URL must be the number of a database: redis://host:6379/1.",
    ]);
  }
  return {
    // IPv6 addresses are in brackets.
    host: url.hostname.replace(/^\[(.*)\]$/, "$1"),
    port: url.port === "" ? DEFAULT_PORT : Number(url.port),
    tls: url.protocol === "rediss:",
    username,
    password,
    database,
    publicUrl: `${url.protocol}//${url.host}`,
  };
}

function decode(part = ""): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}
