/** Reads a declaration of a tool `{type: "mcp"}`. */
import * as z from "zod";
import { lazy } from "../../lazy.ts";
import type { McpPolicy, ToolFilter } from "../../tools/mcp/policy.ts";
import { toShownUrl } from "../../tools/mcp/shown-url.ts";

const MAX_HEADERS = 32;
const MAX_HEADER_LENGTH = 8192;
/** Maximum names in a list of a declaration. */
export const MAX_NAMES = 256;

/** Headers of the protocol and the connection, which a declaration must not set. */
const OWN_HEADERS =
  /^(?:accept|connection|content-length|content-type|cookie2?|expect|host|keep-alive|last-event-id|mcp-.*|proxy-.*|te|trailer|transfer-encoding|upgrade)$/i;

const names = lazy(() => z.array(z.string().max(128)).max(MAX_NAMES));

const toolFilter = lazy(() =>
  z.object({ tool_names: names().nullish(), read_only: z.boolean().nullish() }),
);

const headers = lazy(() =>
  z
    .record(z.string(), z.string().max(MAX_HEADER_LENGTH))
    .refine(
      (given) => Object.keys(given).length <= MAX_HEADERS,
      `has more than ${MAX_HEADERS} entries`,
    )
    .refine(
      (given) => Object.entries(given).every(isHeader),
      "has a name or value that no header can have",
    )
    .refine(
      (given) => !Object.keys(given).some((name) => OWN_HEADERS.test(name)),
      "has a name that the protocol uses itself",
    ),
);

/** A field of an unsupported feature: OpenAI's own connectors and tunnels. */
const absent = (problem: string) => z.null(problem).optional();

export const mcpDeclaration = lazy(() =>
  z
    .object({
      server_label: z.string().min(1).max(64),
      server_url: z
        .url({ protocol: /^https?$/, error: "must be a URL that begins with http:// or https://" })
        .max(2048)
        .nullish(),
      connector_id: absent("connectors are OpenAI's own. Give the server_url of an MCP server"),
      tunnel_id: absent("tunnels are OpenAI's own. Give the server_url of an MCP server"),
      server_description: z.string().max(2000).nullish(),
      headers: headers().nullish(),
      authorization: z
        .string()
        .min(1)
        .max(MAX_HEADER_LENGTH)
        .refine(
          (token) => isHeader(["authorization", token]),
          "has characters that no header can have",
        )
        .nullish(),
      defer_loading: z.boolean().nullish(),
      /** Anthropic's fields: tools that are disabled, deferred or shown individually. */
      denied_tools: names().nullish(),
      deferred_tools: names().nullish(),
      shown_tools: names().nullish(),
      allowed_tools: z.union([names(), toolFilter()]).nullish(),
      require_approval: z
        .union([
          z.enum(["always", "never"]),
          z.object({ always: toolFilter().nullish(), never: toolFilter().nullish() }),
        ])
        .nullish(),
    })
    .transform(({ authorization, headers: given, ...fields }) => ({
      ...fields,
      headers: toHeaders(given, authorization),
    })),
);

export type McpDeclaration = z.output<ReturnType<typeof mcpDeclaration>>;

export function toPolicy({
  allowed_tools: allowed,
  denied_tools: denied,
  require_approval: required,
}: McpDeclaration): McpPolicy {
  return {
    ...(allowed != null && { allowed: Array.isArray(allowed) ? allowed : toFilter(allowed) }),
    ...(denied != null && { denied }),
    ...(required != null && {
      approval:
        typeof required === "string"
          ? required
          : { always: toFilter(required.always), never: toFilter(required.never) },
    }),
  };
}

/** The tools that are shown only once a search has found them, by their names on the server. */
export function toDeferral({
  defer_loading: isCommon,
  deferred_tools: deferred,
  shown_tools: shown,
}: McpDeclaration): (name: string) => boolean {
  const exceptions = new Set(isCommon ? shown : deferred);
  return (name) => exceptions.has(name) !== (isCommon ?? false);
}

/** The declaration for responses and the store, without credentials, which an address can also contain. */
export function withoutCredentials(
  fields: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const known = SHOWN.flatMap((name) => (name in fields ? [[name, fields[name]]] : []));
  const { server_url: url } = fields;
  return {
    ...Object.fromEntries(known),
    ...(typeof url === "string" && { server_url: toShownUrl(url) }),
  };
}

const SHOWN = [
  "type",
  "server_label",
  "server_description",
  "allowed_tools",
  "require_approval",
  "defer_loading",
];

type SentFilter = z.output<ReturnType<typeof toolFilter>>;

function toFilter(filter: SentFilter): ToolFilter;
function toFilter(filter: SentFilter | null | undefined): ToolFilter | undefined;
function toFilter(filter: SentFilter | null | undefined): ToolFilter | undefined {
  if (filter == null) return undefined;
  const { tool_names: toolNames, read_only: readOnly } = filter;
  return { ...(toolNames != null && { toolNames }), ...(readOnly != null && { readOnly }) };
}

function toHeaders(
  given: Readonly<Record<string, string>> | null | undefined,
  authorization: string | null | undefined,
): Readonly<Record<string, string>> {
  if (authorization == null) return given ?? {};
  const value = /^(?:bearer|basic) /i.test(authorization)
    ? authorization
    : `Bearer ${authorization}`;
  return { ...given, authorization: value };
}

function isHeader([name, value]: readonly [string, string]): boolean {
  try {
    return new Headers([[name, value]]).has(name);
  } catch {
    return false;
  }
}
