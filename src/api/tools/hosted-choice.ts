/** Reads the parts of `tool_choice` that concern tools of the gateway. */
import * as z from "zod";
import { lazy } from "../../lazy.ts";
import type { GatewayTool } from "../../tools/gateway-tool.ts";
import { mcpToolName } from "../../tools/mcp/tool.ts";
import { refusal, type RequestError } from "../errors.ts";
import { parseWith } from "../request/parse-request.ts";
import { firstRecipients, hostedKindOf, requiredRecipients } from "./hosted-tools.ts";
import type { Listing } from "./mcp-servers.ts";

/** The demand of `tool_choice` for a call of a gateway tool. */
export interface HostedDemand {
  /** The tool that `tool_choice` names. */
  readonly named: { readonly kind: string; readonly fields: unknown } | undefined;
  /** Whether a call is required and the client has no function to call. */
  readonly isRequired: boolean;
}

/**
 * The allowed recipients of the first call. Undefined: no call is demanded, or the request has no such tool. Throws a
 * {@link RequestError} for a missing MCP server.
 */
export function forcedHosted(
  { named, isRequired }: HostedDemand,
  tools: readonly GatewayTool[],
  listings: readonly Listing[] = [],
): readonly string[] | undefined {
  if (named === undefined) return isRequired ? requiredRecipients(tools) : undefined;
  if (named.kind === "mcp") return forcedMcp(named.fields, tools, listings);
  const kind = hostedKindOf(named.kind);
  const tool = tools.find(({ name }) => name === kind);
  return tool && firstRecipients(tool);
}

function forcedMcp(
  choice: unknown,
  tools: readonly GatewayTool[],
  listings: readonly Listing[],
): readonly string[] {
  const { server_label: label, name } = readChoice(choice, "tool_choice");
  const failed = listings.find((each) => each.label === label)?.error;
  if (failed !== undefined) {
    throw refusal("tool_choice.server_label", failed);
  }
  const server = tools.find((tool) => tool.name === mcpToolName(label));
  if (server === undefined) throw missing("tool_choice.server_label", `MCP server ${label}`);
  const recipients = firstRecipients(chosen(server, name));
  if (recipients.length > 0) return recipients;
  throw missing(
    name == null ? "tool_choice.server_label" : "tool_choice.name",
    `tool ${name ?? ""} of the MCP server ${label}`,
  );
}

/** The servers in `allowed_tools`, each with its allowed tools. */
export function allowedMcp(
  choices: readonly { readonly type: string }[],
  tools: readonly GatewayTool[],
): GatewayTool[] {
  const allowed = new Map<string, Set<string> | undefined>();
  for (const [index, choice] of choices.entries()) {
    if (choice.type !== "mcp") continue;
    const { server_label: label, name } = readChoice(choice, `tool_choice.tools[${index}]`);
    const names = allowed.get(label);
    const isWhole = name == null || (allowed.has(label) && names === undefined);
    allowed.set(label, isWhole ? undefined : new Set([...(names ?? []), name]));
  }
  return tools.flatMap((tool) => {
    const label = [...allowed.keys()].find((each) => mcpToolName(each) === tool.name);
    if (label === undefined) return [];
    const names = allowed.get(label);
    return names === undefined ? tool : withFunctions(tool, (name) => names.has(name));
  });
}

function chosen(tool: GatewayTool, name: string | null | undefined): GatewayTool {
  return name == null ? tool : withFunctions(tool, (each) => each === name);
}

/** Keeps the functions for which `offers` is true, by the server's own names. */
function withFunctions(tool: GatewayTool, offers: (name: string) => boolean): GatewayTool {
  const functions = (tool.functions ?? []).filter(({ recipient }) =>
    offers(tool.origin?.(recipient).tool ?? ""),
  );
  const recipients = new Set(functions.map(({ recipient }) => recipient));
  return { ...tool, functions, accepts: (recipient) => recipients.has(recipient) };
}

function readChoice(choice: unknown, param: string) {
  return parseWith(mcpChoice(), choice, param);
}

function missing(param: string, what: string): RequestError {
  return refusal(param, `this request has no ${what}`);
}

const mcpChoice = lazy(() => z.object({ server_label: z.string(), name: z.string().nullish() }));
