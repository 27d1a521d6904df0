/**
 * A coding agent's tools that do the same as tools of the model's training. A profile is data: it is recognized by the
 * schemas of a request's tools, whatever the client says it is.
 */
import type { CodingToolName } from "../../harmony/coding-tools.ts";
import type { Field } from "./fields.ts";

/** What a tool can do, the least first: read files, change them, or anything. A call never goes to a tool that can do more. */
export const TOOL_CLASSES = ["read", "edit", "exec"] as const;

export type ToolClass = (typeof TOOL_CLASSES)[number];

export interface ProfileTool {
  /** The trained tool. */
  readonly trained: CodingToolName;
  /** The client's usual name of it, which decides between two tools that both fit. */
  readonly name: string;
  /** What the client's tool can do. */
  readonly target: ToolClass;
  /** The client's tool takes a text instead of JSON arguments. */
  readonly isText?: boolean;
  readonly fields: readonly Field[];
  /** What the model has to know about the client's results, for the tool's description. */
  readonly note?: string;
}

export interface Profile {
  readonly name: string;
  /** In records. Changes with the tables. */
  readonly version: number;
  /**
   * Of two tools for one of the client's, the first is that which the client's calls are taken for. Of two of the client's
   * for one trained tool, the first that is offered counts.
   */
  readonly tools: readonly ProfileTool[];
}
