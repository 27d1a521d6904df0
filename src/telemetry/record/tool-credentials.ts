/**
 * Removes the credentials of MCP servers from a request's body. Clients send them with the tool: as `authorization`, in
 * `headers`, or in the server's URL. All other bytes stay unchanged.
 */
import { hasMembers, parseBoundedJson } from "../../engines/untyped-json.ts";
import { endOfString } from "../../json-text.ts";
import { toShownUrl } from "../../tools/mcp/shown-url.ts";

const LEFT_OUT = "[left out of the record]";

/** Maximum credentials of a request, which has one for each server. */
const MAX_CREDENTIALS = 64;
/** Longest escape of a character in JSON, `\u0000`. */
const MAX_ESCAPE = 6;

const MENTIONED = /authorization|headers|server_url|mcp_servers|\\u/;

/**
 * Undefined: the body may hold credentials that cannot be found, because it is not JSON, or has too many credentials or values.
 */
export function withoutToolCredentials(body: string): string | undefined {
  if (!MENTIONED.test(body)) return body;
  const value = parseBoundedJson(body);
  if (value === undefined) return undefined;
  const replacements = new Map<string, string>();
  for (const [name, url] of DECLARATIONS) {
    for (const server of listIn(value, name)) {
      addCredentials(server, url, replacements);
      if (replacements.size > MAX_CREDENTIALS) return undefined;
    }
  }
  return replacements.size === 0 ? body : replaceStrings(body, replacements);
}

/** Positions of MCP servers in requests, and the field with the URL there. */
const DECLARATIONS = [
  ["tools", "server_url"],
  ["mcp_servers", "url"],
] as const;

function addCredentials(server: unknown, urlName: string, found: Map<string, string>): void {
  for (const name of ["authorization", "authorization_token"]) {
    addCredential(member(server, name), found);
  }
  const headers = member(server, "headers");
  for (const value of hasMembers(headers) ? Object.values(headers) : [])
    addCredential(value, found);
  const url = member(server, urlName);
  if (typeof url !== "string") return;
  const shown = toShownUrl(url);
  if (shown !== url && shown !== url.replace(/\/$/, "")) found.set(url, shown);
}

function addCredential(value: unknown, found: Map<string, string>): void {
  if (typeof value === "string" && value !== "") found.set(value, LEFT_OUT);
}

/** Replaces whole strings of a JSON text in one pass, in any escaped form. */
function replaceStrings(json: string, replacements: ReadonlyMap<string, string>): string {
  const longest = Math.max(...Array.from(replacements.keys(), ({ length }) => length));
  let replaced = "";
  let copied = 0;
  for (let start = json.indexOf('"'); start >= 0;) {
    const end = endOfString(json, start) + 1;
    if (end - start <= longest * MAX_ESCAPE + 2) {
      const replacement = replacements.get(toText(json.slice(start, end)));
      if (replacement !== undefined) {
        replaced += json.slice(copied, start) + JSON.stringify(replacement);
        copied = end;
      }
    }
    start = json.indexOf('"', end);
  }
  return replaced + json.slice(copied);
}

function toText(string: string): string {
  return string.includes("\\") ? String(JSON.parse(string)) : string.slice(1, -1);
}

function listIn(value: unknown, name: string): readonly unknown[] {
  const list = member(value, name);
  return Array.isArray(list) ? list : [];
}

function member(value: unknown, name: string): unknown {
  return hasMembers(value) ? Reflect.get(value, name) : undefined;
}
