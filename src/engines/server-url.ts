/** The URL of an inference server: as configured, as requested, and as it may appear in logs and errors. */
import { EngineError } from "./engine-error.ts";

export interface ServerUrl {
  /** The URL without credentials, query, trailing slash and API version: a path such as `/v1/models` is appended to it. */
  readonly base: string;
  /** The `Authorization` header: from the key, otherwise from the URL's credentials, which `fetch` refuses in a URL. */
  readonly authorization?: string;
}

/** Throws an {@link EngineError} (`unreachable`) unless `text` is an http or https URL. */
export function readServerUrl(text: string, apiKey?: string): ServerUrl {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new EngineError(
      "unreachable",
      `"${text}" is not an http URL. Write it as http://host:port.`,
    );
  }
  const { username, password } = url;
  url.username = "";
  url.password = "";
  url.search = "";
  url.hash = "";
  // Server documentation often includes the API version in the URL; our paths already contain it.
  const base = url.href.replace(/(\/v1)?\/*$/, "");
  if (apiKey !== undefined) return { base, authorization: `Bearer ${apiKey}` };
  if (username === "" && password === "") return { base };
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { base, authorization: `Basic ${btoa(credentials)}` };
}

/** The URL as it may appear in logs and errors: no credentials, no query. */
export function toPublicUrl(url: string): string {
  const { origin, pathname } = new URL(url);
  return pathname === "/" ? origin : origin + pathname;
}
