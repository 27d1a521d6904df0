/** The dependencies of Chat Completions. */
import type { NamespaceStyle } from "../../harmony/tool-names.ts";
import type { MediaRules } from "../request/media.ts";
import type { TurnDeps } from "../turn-deps.ts";

export interface ChatCompletionsDeps extends TurnDeps {
  readonly media: MediaRules;
  /** The style in which the model is shown the tools of MCP servers. */
  readonly toolNamespaces: NamespaceStyle;
  /** Whether a tenant gets its reasoning repeated as `reasoning_content`. */
  readonly mirrorReasoning: (tenant: string) => boolean;
  /** Absent: no summaries are made. */
  readonly summaries: { readonly waitMs: number } | undefined;
  /** Called with the names of tools that the request asks for and does not get. */
  readonly onSkipped: (id: string, names: readonly string[]) => void;
}
