/**
 * The tools of a deployment. The entry for a runtime makes it (`node/serve.ts`, `worker.ts`), because what a tool needs
 * differs between runtimes; the APIs take from it what a request asks for. A tool that is absent cannot be run here,
 * and requests for it are treated like requests for any other tool that gpt-oss does not have.
 */
import type { BuiltinTool } from "./builtin-tool.ts";
import type { McpServer } from "./mcp/connection.ts";
import type { McpPolicy } from "./mcp/policy.ts";

export interface Toolbox {
  readonly browser?: (options: BrowserOptions) => BuiltinTool;
  readonly python?: (options: PythonOptions) => BuiltinTool;
  readonly mcp?: McpToolbox;
}

/** MCP servers. Connections are opened when they are needed. */
export interface McpToolbox {
  /** The operator's, by label. */
  readonly servers: ReadonlyMap<string, OperatorServer>;
  /** A server that a request names. Absent: requests can name none. */
  readonly connect?: (declared: DeclaredServer) => McpServer;
}

export interface OperatorServer {
  readonly server: McpServer;
  readonly policy: McpPolicy;
  readonly description?: string | undefined;
  /** Absent: it is a program. */
  readonly url?: string | undefined;
}

export interface DeclaredServer {
  readonly label: string;
  readonly url: string;
  /** With credentials. */
  readonly headers: Readonly<Record<string, string>>;
  /** Its connections are not shared with other tenants. */
  readonly tenant: string;
}

/** The operator does not allow a server that a request names. The message is for the client. */
export class ServerRefused extends Error {
  override readonly name = "ServerRefused";
}

export interface BrowserOptions {
  /** Results and pages are limited to these domains and their subdomains. Absent: only by the operator's settings. */
  readonly allowedDomains?: readonly string[];
  readonly excludedDomains?: readonly string[];
  /** Most results of a search. Absent: the operator's choice. */
  readonly maxResults?: number;
  /** Most searches of a turn. Absent: as many as there may be calls. */
  readonly maxSearches?: number;
  /** Most pages opened in a turn. Absent: as many as there may be calls. */
  readonly maxOpens?: number;
  /** Where the user is, for backends that take it. */
  readonly location?: UserLocation;
}

export interface UserLocation {
  readonly country?: string;
  readonly city?: string;
  readonly region?: string;
  readonly timezone?: string;
}

export interface PythonOptions {
  /** An interpreter to go on with, by the `containerId` it was shown as. Absent: that of the conversation, or a new one. */
  readonly containerId?: string;
}
