/**
 * A coding agent's tools that are equivalent to trained tools. A profile is data, recognized by the schemas of a
 * request's tools and not by the client's name.
 */
import type { CodingToolName } from "../../harmony/coding-tools.ts";
import type { Field } from "./fields.ts";

/**
 * Classes of tools by power, the weakest first: read files, change files, or anything. A call is never mapped to a more
 * powerful tool.
 */
export const TOOL_CLASSES = ["read", "edit", "exec"] as const;

export type ToolClass = (typeof TOOL_CLASSES)[number];

export interface ProfileTool {
  /** The trained tool. */
  readonly trained: CodingToolName;
  /** The client's usual name of its tool, which decides between two fitting tools. */
  readonly name: string;
  /** The class of the client's tool. */
  readonly target: ToolClass;
  /** Whether the client's tool takes a text instead of JSON arguments. */
  readonly isText?: boolean;
  readonly fields: readonly Field[];
  /** A note about the client's results, added to the tool's description. */
  readonly note?: string;
}

export interface Profile {
  readonly name: string;
  /** The profile's version in records, raised when the tables change. */
  readonly version: number;
  /**
   * If two trained tools map to one client tool, the client's calls are converted to the first. If two client tools map
   * to one trained tool, the first offered one is used.
   */
  readonly tools: readonly ProfileTool[];
}
