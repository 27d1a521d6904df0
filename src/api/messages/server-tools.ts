/**
 * Reads declarations of Anthropic's server tools. A field that the gateway's tools do not support is answered with a
 * 400 that names it.
 */
import * as z from "zod";
import { lazy } from "../../lazy.ts";
import { refusal } from "../errors.ts";
import { parseWith } from "../request/parse-request.ts";
import type { Declaration } from "../tools/hosted-tools.ts";
import { MAX_NAMES } from "../tools/mcp-declaration.ts";
import type { CountRequest } from "./request.ts";

export interface ServerTool {
  /** `web_search_20250305` */
  readonly kind: string;
  readonly name: string;
  /** All fields of the declaration. */
  readonly fields: Readonly<Record<string, unknown>>;
}

export interface DeclarationOptions {
  /** The name of the gateway's tool: `web_search`, `code_execution`. */
  readonly kind: string;
  /** The tool's path in the request. */
  readonly param: string;
  /** The id of the interpreter in the request. */
  readonly container: string | null | undefined;
}

/** Throws a {@link RequestError} for an unsupported field. */
export function toDeclaration(
  { kind: dated, name, fields }: ServerTool,
  { kind, param, container }: DeclarationOptions,
): Declaration {
  const { max_uses: uses, allowed_callers: callers } = parseWith(serverTool(), fields, param);
  if (callers && !callers.includes("direct")) {
    throw refusal(
      `${param}.allowed_callers`,
      `this gateway runs ${name} for the model only, not for code it executes. Add "direct"`,
    );
  }
  const { max_uses: _, ...others } = fields;
  const isFetch = dated.startsWith("web_fetch");
  return {
    kind,
    fields: kind === "code_execution" ? { container } : others,
    param,
    ...(uses != null && { uses: isFetch ? { opens: uses } : { searches: uses } }),
  };
}

/** The tools of a server in `mcp_servers`. */
export const MCP_TOOLSET = "mcp_toolset";

/**
 * Converts the servers to the declarations of the other APIs. Throws a {@link RequestError} for a toolset without its
 * server.
 */
export function toMcpDeclarations({
  mcp_servers: servers,
  tools,
}: Pick<CountRequest, "mcp_servers" | "tools">): Declaration[] {
  const toolsets = (tools ?? []).flatMap((tool, index) =>
    tool.type === "hosted" && tool.kind === MCP_TOOLSET
      ? [parseWith(mcpToolset(), tool.fields, `tools[${index}]`)]
      : [],
  );
  for (const { mcp_server_name: name } of toolsets) {
    if (servers?.some((server) => server.name === name)) continue;
    throw refusal("mcp_servers", `has no server with the name ${JSON.stringify(name)}`);
  }
  return (servers ?? []).flatMap((server, index): Declaration[] => {
    const toolset = toolsets.find((each) => each.mcp_server_name === server.name);
    const { enabled, allowed_tools: allowed } = server.tool_configuration ?? {};
    const isUsed = toolsets.length === 0 ? enabled !== false : toolset !== undefined;
    if (!isUsed) return [];
    const fields = {
      server_label: server.name,
      server_url: server.url,
      authorization: server.authorization_token,
      allowed_tools: allowed,
      ...toToolRules(toolset),
    };
    return [{ kind: "mcp", fields, param: `mcp_servers[${index}]` }];
  });
}

function toToolRules({
  default_config: common,
  configs,
}: Partial<z.output<ReturnType<typeof mcpToolset>>> = {}) {
  const named = (member: "enabled" | "defer_loading", value: boolean) =>
    Object.entries(configs ?? {}).flatMap(([name, config]) =>
      config[member] === value ? [name] : [],
    );
  return {
    denied_tools: named("enabled", false),
    defer_loading: common?.defer_loading,
    deferred_tools: named("defer_loading", true),
    shown_tools: named("defer_loading", false),
    ...(common?.enabled === false && { allowed_tools: named("enabled", true) }),
  };
}

const mcpToolConfig = lazy(() =>
  z.object({ enabled: z.boolean().nullish(), defer_loading: z.boolean().nullish() }),
);

const mcpToolset = lazy(() =>
  z.object({
    mcp_server_name: z.string(),
    default_config: mcpToolConfig().nullish(),
    configs: z
      .record(z.string(), mcpToolConfig())
      .refine(
        (configs) => Object.keys(configs).length <= MAX_NAMES,
        `has more than ${MAX_NAMES} entries`,
      )
      .nullish(),
  }),
);

/** A domain without a path: the gateway's tools compare hosts, so an entry with a path would match nothing. */
const domain = lazy(() =>
  z
    .string()
    .regex(/^[^\s/*:]+$/, "must be a domain such as example.com, without scheme, path or wildcard"),
);

const serverTool = lazy(() =>
  z.looseObject({
    max_uses: z.int().min(1).nullish(),
    allowed_domains: z.array(domain()).nullish(),
    blocked_domains: z.array(domain()).nullish(),
    allowed_callers: z.array(z.string()).nullish(),
  }),
);
