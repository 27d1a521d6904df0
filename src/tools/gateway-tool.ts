/**
 * The interface of a tool that the gateway runs for the model.
 *
 * A tool knows Harmony and no API. The turn's loop (`turn/gateway-calls/gateway-call.ts`) opens one run per turn, passes it the
 * model's calls one after the other, and appends each result to the transcript.
 */
import type { ToolNamespace } from "../harmony/conversation.ts";
import type { NamespacedFunction } from "../harmony/tool-names.ts";

export interface GatewayTool {
  /** The tool's name in settings, metrics and saved state: `browser`, `python`, `mcp:LABEL`. Unique within a turn. */
  readonly name: string;
  /** The namespace in the system message, where the model was trained to find `browser` and `python`. */
  readonly namespace?: ToolNamespace;
  /** Functions in the developer message, next to the client's, such as MCP tools. Arguments are JSON. */
  readonly functions?: readonly GatewayToolFunction[];
  /**
   * Whether call bodies are code, passed on unchanged. Otherwise they are JSON arguments, normalized like any
   * function's.
   */
  readonly rawBody: boolean;
  /**
   * Whether a call with this recipient is for this tool: `python`, `browser.search`, `label.tool`. Also true for
   * missing functions of its namespace: the result then is an error.
   */
  readonly accepts: (recipient: string) => boolean;
  /** The clients' names of a tool of an MCP server. */
  readonly origin?: (recipient: string) => ToolOrigin;
  /**
   * Whether the client must approve the call first: the call is not run, and the turn ends. The next turn repeats it,
   * by `TurnGatewayTools.approved`.
   */
  readonly needsApproval?: (recipient: string) => boolean;
  /**
   * The details for clients of a call without a run's result, because it failed or was not made. `text`: the result for
   * the model.
   */
  readonly describe: (call: DescribedCall, text: string) => ShownCall;
  /** The kind of the call in the usage of an API. Absent: calls are not counted. */
  readonly countsAs?: (recipient: string) => "search" | "open" | undefined;
  /**
   * Begins a run: once per turn, when the first call is made. A rejection is handled like a failed call: it becomes the
   * result of the call.
   */
  open(session: ToolSession): Promise<GatewayToolRun>;
}

/**
 * A function that the gateway runs. It is named, rendered and addressed like a client's function in a namespace
 * (`tool-names.ts`).
 */
export interface GatewayToolFunction {
  /** The name that identifies the function in the turn: `label.tool`. */
  readonly name: string;
  /** The recipient of the function's calls: `label.tool`, or `functions.label__tool`. */
  readonly recipient: string;
  /** The definition in the developer message. */
  readonly shown: NamespacedFunction;
  /** Whether the function is hidden until a search finds it. */
  readonly isDeferred?: boolean;
}

export interface ToolOrigin {
  /** The server's label: `server_label`. */
  readonly server: string;
  /** The server's name of the tool. */
  readonly tool: string;
}

export interface ToolSession {
  /** The tenant of the request: limits and state are per tenant. */
  readonly tenant: string;
  /** The turn's id, for the log. */
  readonly turnId: string;
  /** The value that {@link GatewayToolRun.save} returned at the end of the turn that this one continues. It may be malformed. */
  readonly saved: string | undefined;
  /** Aborted if the turn ends early. */
  readonly signal: AbortSignal;
}

export type DescribedCall = Pick<GatewayCall, "recipient" | "body">;

/** One tool in one turn. Calls never overlap. */
export interface GatewayToolRun {
  /**
   * Runs a call. Errors are results with `failed`; a rejection becomes one without details. When the signal is aborted,
   * the tool must stop at once, and the outcome is ignored.
   */
  run(call: GatewayCall, signal: AbortSignal): Promise<GatewayToolResult>;
  /** The source of a citation of these lines. Undefined: there is none, or it has no address. */
  cite?(cursor: number, lines?: CitedLines): CitedSource | undefined;
  /** State from which a later turn of the conversation continues, at most 1 MB. Undefined: there is none. */
  save(): string | undefined;
  /** Releases the run. Called once, however the turn ended. */
  close(): Promise<void>;
}

export interface GatewayCall {
  /** The id of the part that represents the call. */
  readonly id: string;
  /** The canonical recipient: `python`, `browser.open`, `label.tool`. */
  readonly recipient: string;
  /** Code or JSON arguments by the model, not validated. */
  readonly body: string;
}

export interface GatewayToolResult {
  /** The result for the model. The text is cut if the context is too short. */
  readonly text: string;
  /** The details for clients. */
  readonly shown: ShownCall;
  readonly failed: boolean;
  /** The error code, if an API has one for the failure. */
  readonly reason?: FailureReason;
}

/** `limit`: no further calls of this kind are allowed. */
export type FailureReason = "invalid-input" | "limit" | "timeout";

/** Line numbers as displayed to the model, the last one included. */
export interface CitedLines {
  readonly first: number;
  readonly last: number;
}

export interface CitedSource {
  readonly url: string;
  readonly title: string;
  /** The text of the cited lines, or its beginning. Absent: unknown. */
  readonly text?: string;
}

export type ShownCall = SearchShown | OpenShown | FindShown | CodeShown | McpShown | ToolsShown;

/** A search for deferred functions. */
export interface ToolsShown {
  readonly type: "tools";
  readonly query: string;
  /** The names of the found functions, the best first. */
  readonly found: readonly string[];
}

export interface SearchShown {
  readonly type: "search";
  readonly query: string;
  readonly results: readonly SearchResult[];
}

export interface SearchResult {
  readonly url: string;
  readonly title: string;
  readonly snippet: string;
}

export interface OpenShown {
  readonly type: "open";
  /** Absent: the call did not name an existing page. */
  readonly url?: string;
  readonly title?: string;
}

export interface FindShown {
  readonly type: "find";
  readonly pattern: string;
  readonly url?: string;
}

export interface CodeShown {
  readonly type: "code";
  readonly code: string;
  /** The interpreter's id for clients: `container_id`. */
  readonly containerId: string;
  /** Outputs, in order of creation. */
  readonly outputs: readonly CodeOutput[];
  /** Whether the code raised an exception. */
  readonly raised?: boolean;
}

export type CodeOutput =
  | { readonly type: "logs"; readonly logs: string }
  /** The content as a data URL. */
  | { readonly type: "image"; readonly url: string };

export interface McpShown {
  readonly type: "mcp";
  readonly server: string;
  /** The server's name of the tool. */
  readonly tool: string;
  readonly arguments: string;
  readonly output?: string;
  readonly error?: McpError;
}

export type McpError =
  | { readonly type: "protocol" | "http"; readonly code: number; readonly message: string }
  | { readonly type: "execution"; readonly content: unknown };

/** The error of a tool that itself failed with this text. */
export function executionError(text: string): McpError {
  return { type: "execution", content: [{ type: "text", text }] };
}
