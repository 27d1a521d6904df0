/**
 * The tools of a deployment. The entry of each runtime creates it (`node/server/serve.ts`, `worker.ts`), because the
 * services that tools need differ between runtimes; the APIs use it for the tools that a request declares. An absent
 * tool cannot be run here, and requests for it are handled like requests for any unsupported tool.
 */
import type { TrainedTool } from "../harmony/trained-tools.ts";
import type { GatewayTool } from "./gateway-tool.ts";
import type { McpServer } from "./mcp/connection.ts";
import type { McpPolicy } from "./mcp/policy.ts";

export interface Toolbox {
  readonly browser?: ((options: BrowserOptions) => GatewayTool) | undefined;
  readonly python?: ((options: PythonOptions) => GatewayTool) | undefined;
  readonly mcp?: McpToolbox | undefined;
}

/** The trained tools of a toolbox. All names are required, so that the compiler reports a missing new tool. */
export type TrainedToolbox = { readonly [Name in TrainedTool]: Toolbox[Name] };

/** MCP servers. Connections are opened on demand. */
export interface McpToolbox {
  /** The operator's servers, by label. */
  readonly servers: ReadonlyMap<string, OperatorServer>;
  /** Opens a server that a request declares. Absent: requests cannot declare servers. */
  readonly connect?: (declared: DeclaredServer) => McpServer;
}

export interface OperatorServer {
  readonly server: McpServer;
  readonly policy: McpPolicy;
  readonly description?: string | undefined;
  /** Absent: the server is a program. */
  readonly url?: string | undefined;
}

export interface DeclaredServer {
  readonly label: string;
  readonly url: string;
  /** Headers, including credentials. */
  readonly headers: Readonly<Record<string, string>>;
  /** The tenant. Connections are not shared between tenants. */
  readonly tenant: string;
}

/** Thrown if the operator does not allow a server declared by a request. The message is for the client. */
export class ServerRefused extends Error {
  override readonly name = "ServerRefused";
}

export interface BrowserOptions {
  /** Restricts results and pages to these domains and their subdomains. Absent: only the operator's settings apply. */
  readonly allowedDomains?: readonly string[];
  readonly excludedDomains?: readonly string[];
  /** Maximum results of a search. Absent: the operator's setting. */
  readonly maxResults?: number;
  /** Maximum searches in a turn. 0: search is not offered. Absent: limited only by the number of calls. */
  readonly maxSearches?: number;
  /** Maximum pages opened in a turn. Absent: limited only by the number of calls. */
  readonly maxOpens?: number;
  /** The user's location, for search services that support it. */
  readonly location?: UserLocation;
}

export interface UserLocation {
  readonly country?: string;
  readonly city?: string;
  readonly region?: string;
  readonly timezone?: string;
}

export interface PythonOptions {
  /** The `containerId` of the interpreter to resume. Absent: the conversation's interpreter, or a new one. */
  readonly containerId?: string;
}
