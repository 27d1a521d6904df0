/** The interface to a server of the Model Context Protocol, limited to its tools. */
import { fromPlainJson, toCompactJson } from "../../harmony/json.ts";
import { MAX_DEPTH } from "../../json-text.ts";
import type { McpError } from "../gateway-tool.ts";

export interface McpServer {
  /** The server's label, by which the model and clients know it. */
  readonly label: string;
  /**
   * Lists the server's tools. Opens a connection if there is none.
   * @throws McpUnavailable
   */
  listTools(signal: AbortSignal): Promise<readonly McpTool[]>;
  /**
   * Calls a tool. Rejects only if the signal is aborted: a failure of the server is an outcome.
   *
   * @param readMedia absent: a note replaces each image and file of the result.
   */
  callTool(
    name: string,
    args: string,
    signal: AbortSignal,
    readMedia?: ReadMedia,
  ): Promise<McpOutcome>;
  /** Closes the connection, and stops the server's process if it has one. */
  close(): Promise<void>;
}

/** Reads an image or a file, given as base64, as a text for the model. Undefined: it cannot be read. */
export type ReadMedia = (
  media: { readonly name: string; readonly data: string; readonly mediaType: string },
  signal: AbortSignal,
) => Promise<string | undefined>;

export interface McpTool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments, as parsed by `JSON.parse`. */
  readonly inputSchema: Readonly<Record<string, unknown>>;
  /** Whether the server declares that the tool changes nothing. */
  readonly readOnly: boolean;
}

export interface McpOutcome {
  /** The result for the model, cut to {@link MAX_RESULT}. */
  readonly text: string;
  readonly error?: McpError;
}

/** Thrown if the server cannot be used. The message is for the model and the client. */
export class McpUnavailable extends Error {
  override readonly name = "McpUnavailable";
  /** The HTTP status, if there was a response. */
  readonly status: number | undefined;

  constructor(message: string, options: ErrorOptions & { readonly status?: number } = {}) {
    super(message, options);
    this.status = options.status;
  }
}

/** Maximum characters of a result. */
export const MAX_RESULT = 20_000;

/** Maximum tools of one server; below, maximum characters of a tool's description, and of all tools as JSON. */
export const MAX_TOOLS = 128;
export const MAX_DESCRIPTION = 2000;
export const MAX_LISTING = 200_000;

/**
 * The tools within the limits, in the server's order. A tool that is too large is left out; the following ones are
 * kept.
 */
export function boundTools(tools: readonly McpTool[]): McpTool[] {
  const bounded: McpTool[] = [];
  let length = 0;
  for (const tool of tools) {
    if (bounded.length === MAX_TOOLS) break;
    if (tool.name === "" || tool.name.length > MAX_TOOL_NAME) continue;
    if (isDeeper(tool.inputSchema, MAX_SCHEMA_DEPTH)) continue;
    const description = tool.description.slice(0, MAX_DESCRIPTION);
    const size = tool.name.length + description.length + schemaLength(tool.inputSchema);
    if (length + size > MAX_LISTING) continue;
    length += size;
    bounded.push({ ...tool, description });
  }
  return bounded;
}

/** The protocol's limit for names. */
const MAX_TOOL_NAME = 128;

/** A client sends a schema back nested in five levels: the body, the input, an item, its list of tools and the tool. */
const MAX_SCHEMA_DEPTH = MAX_DEPTH - 5;

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((each) => isDeeper(each, levels - 1));
}

/**
 * The length of a schema as JSON. `Infinity` if it cannot be serialized, for instance because a string has a lone
 * surrogate.
 */
function schemaLength(schema: McpTool["inputSchema"]): number {
  try {
    return toCompactJson(fromPlainJson(schema)).length;
  } catch {
    return Infinity;
  }
}
