/** A server of the Model Context Protocol, as far as its tools are concerned. */
import { fromPlainJson, toCompactJson } from "../../harmony/json.ts";
import type { McpError } from "../builtin-tool.ts";

export interface McpServer {
  /** Names it for the model and for clients. */
  readonly label: string;
  /**
   * Its tools, from a connection that is opened if there is none.
   * @throws McpUnavailable
   */
  listTools(signal: AbortSignal): Promise<readonly McpTool[]>;
  /** Never rejects but when the signal is aborted: whatever the server does is an outcome. */
  callTool(name: string, args: string, signal: AbortSignal): Promise<McpOutcome>;
  /** Ends the connection, and the server's process if it has one. */
  close(): Promise<void>;
}

export interface McpTool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments, as `JSON.parse` gives it. */
  readonly inputSchema: Readonly<Record<string, unknown>>;
  /** The server says that it changes nothing. */
  readonly readOnly: boolean;
}

export interface McpOutcome {
  /** For the model; cut to {@link MAX_RESULT}. */
  readonly text: string;
  readonly error?: McpError;
}

/** The server cannot be used. The message is for the model and the client. */
export class McpUnavailable extends Error {
  override readonly name = "McpUnavailable";
  /** Of the HTTP answer, if it was one. */
  readonly status: number | undefined;

  constructor(message: string, options: ErrorOptions & { readonly status?: number } = {}) {
    super(message, options);
    this.status = options.status;
  }
}

/** Characters of a result. */
export const MAX_RESULT = 20_000;

/** Tools of one server that are offered, characters of a tool's description, and of all the tools as JSON. */
export const MAX_TOOLS = 128;
export const MAX_DESCRIPTION = 2000;
export const MAX_LISTING = 200_000;

/** The tools that fit into the limits, in the server's order. One that is too large is left out, not those after it. */
export function boundTools(tools: readonly McpTool[]): McpTool[] {
  const bounded: McpTool[] = [];
  let length = 0;
  for (const tool of tools) {
    if (bounded.length === MAX_TOOLS) break;
    if (tool.name === "" || tool.name.length > MAX_TOOL_NAME) continue;
    const description = tool.description.slice(0, MAX_DESCRIPTION);
    const size = tool.name.length + description.length + schemaLength(tool.inputSchema);
    if (length + size > MAX_LISTING) continue;
    length += size;
    bounded.push({ ...tool, description });
  }
  return bounded;
}

/** Of the protocol. */
const MAX_TOOL_NAME = 128;

/** `Infinity` for one that cannot be read: it is nested too deep, for instance. */
function schemaLength(schema: McpTool["inputSchema"]): number {
  try {
    return toCompactJson(fromPlainJson(schema)).length;
  } catch {
    return Infinity;
  }
}
