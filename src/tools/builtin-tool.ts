/**
 * A tool that the gateway runs for the model, and what a call to it gives.
 *
 * A tool knows Harmony and nothing of an API. The turn's loop (`turn/builtin-call.ts`) opens one run per turn, hands it
 * the model's calls one after the other, and appends each result to the transcript.
 */
import type { ToolNamespace } from "../harmony/conversation.ts";
import type { NamespacedFunction } from "../harmony/tool-names.ts";

export interface BuiltinTool {
  /** Names it in settings, metrics and saved state: `browser`, `python`, `mcp:LABEL`. Unique within a turn. */
  readonly name: string;
  /** Printed in the system message, where the model was trained to find `browser` and `python`. */
  readonly namespace?: ToolNamespace;
  /** Offered in the developer message instead, beside the client's functions, as MCP tools are. Arguments are JSON. */
  readonly functions?: readonly BuiltinFunction[];
  /** Bodies are code, passed on exactly as written. Otherwise JSON arguments, tidied like those of any function. */
  readonly rawBody: boolean;
  /**
   * Whether calls with this recipient are for this tool: `python`, `browser.search`, `label.tool`. Also true
   * for functions of its namespace that do not exist: the result then says so.
   */
  readonly accepts: (recipient: string) => boolean;
  /** Of a tool that stands for a server's: the names clients know it by. */
  readonly origin?: (recipient: string) => ToolOrigin;
  /**
   * The client has to decide first: the call is not run, and the turn ends. The turn that follows makes it again, by
   * `TurnBuiltins.approved`.
   */
  readonly needsApproval?: (recipient: string) => boolean;
  /**
   * Begins a run, once per turn and not before the first call is made. A rejection is answered like a failed call: it
   * becomes the result of the call.
   */
  open(session: ToolSession): Promise<BuiltinRun>;
}

/** A function that the gateway runs: named, shown and addressed like a client's with a namespace (`tool-names.ts`). */
export interface BuiltinFunction {
  /** Identifies it among all functions of the turn: `label.tool`. */
  readonly name: string;
  /** Who its calls are addressed to: `label.tool`, or `functions.label__tool`. */
  readonly recipient: string;
  /** As the developer message offers it. */
  readonly shown: NamespacedFunction;
}

export interface ToolOrigin {
  /** `server_label` */
  readonly server: string;
  /** As the server calls it. */
  readonly tool: string;
}

export interface ToolSession {
  /** Whose request it is: limits and state belong to a tenant. */
  readonly tenant: string;
  /** Of the turn, for the log. */
  readonly turnId: string;
  /** What {@link BuiltinRun.save} gave at the end of the turn this one continues. Not to be trusted to be well-formed. */
  readonly saved: string | undefined;
  /** Aborted when the turn ends early. */
  readonly signal: AbortSignal;
}

/** One tool in one turn. Calls never overlap. */
export interface BuiltinRun {
  /**
   * Runs a call. Errors are results with `failed`: a rejection is turned into one without details. When the signal
   * is aborted, whatever runs must be stopped at once; the outcome is then ignored.
   */
  run(call: BuiltinCall, signal: AbortSignal): Promise<BuiltinResult>;
  /** The source that a citation of these lines refers to. Undefined: there is none, or it has no address. */
  cite?(cursor: number, lines?: CitedLines): CitedSource | undefined;
  /** State that a later turn of the conversation continues from. Undefined: there is none. At most 1 MB. */
  save(): string | undefined;
  /** Called once, however the turn ended. */
  close(): Promise<void>;
}

export interface BuiltinCall {
  /** Of the part it is told by. */
  readonly id: string;
  /** Canonical: `python`, `browser.open`, `label.tool`. */
  readonly recipient: string;
  /** Code, or JSON arguments. May be anything: the model wrote it. */
  readonly body: string;
}

export interface BuiltinResult {
  /** The message for the model. It is cut where the context is too short. */
  readonly text: string;
  /** What clients are shown. */
  readonly shown: ShownCall;
  readonly failed: boolean;
  /** Why, where an API has a code of its own for it. */
  readonly reason?: FailureReason;
}

/** `limit`: no more such calls are allowed. */
export type FailureReason = "invalid-input" | "limit" | "timeout";

/** Lines as the model has seen them numbered, the last one included. */
export interface CitedLines {
  readonly first: number;
  readonly last: number;
}

export interface CitedSource {
  readonly url: string;
  readonly title: string;
  /** What the cited lines say, or how they begin. Absent: unknown. */
  readonly text?: string;
}

export type ShownCall = SearchShown | OpenShown | FindShown | CodeShown | McpShown;

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
  /** Absent: the call named no page that exists. */
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
  /** Names the interpreter for clients: `container_id`. */
  readonly containerId: string;
  /** In the order they were made. */
  readonly outputs: readonly CodeOutput[];
  /** The code ended with an exception. */
  readonly raised?: boolean;
}

export type CodeOutput =
  | { readonly type: "logs"; readonly logs: string }
  /** A data URL. */
  | { readonly type: "image"; readonly url: string };

export interface McpShown {
  readonly type: "mcp";
  readonly server: string;
  /** As the server calls it. */
  readonly tool: string;
  readonly arguments: string;
  readonly output?: string;
  readonly error?: McpError;
}

export type McpError =
  | { readonly type: "mcp_protocol_error"; readonly code: number; readonly message: string }
  | { readonly type: "mcp_tool_execution_error"; readonly content: unknown }
  | { readonly type: "http_error"; readonly code: number; readonly message: string };
