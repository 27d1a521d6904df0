/** The dependencies of Chat Completions. */
import type { RequestSetting } from "../../config/key-setting.ts";
import type { NamespaceStyle } from "../../harmony/tool-names.ts";
import type { ReasoningStore } from "../../store/reasoning-store.ts";
import type { Pause } from "../../streams/slices.ts";
import type { OpenMedia } from "../media/open-media.ts";
import type { StreamDeps } from "../reply/stream-reply.ts";
import type { CountedLists, RequestLimits } from "../request/limits.ts";
import type { MediaRules } from "../request/media.ts";
import type { HostedDeps } from "../tools/hosted-tools.ts";
import type { TurnContext } from "./to-turn.ts";

export interface ChatCompletionsDeps extends StreamDeps {
  readonly reasoning: ReasoningStore;
  /** The system message's options from the settings, for the date of the request. */
  readonly system: (now: number) => TurnContext["system"];
  readonly media: MediaRules;
  readonly openMedia: OpenMedia;
  readonly hosted: HostedDeps;
  /** The style in which the model is shown the tools of MCP servers. */
  readonly toolNamespaces: NamespaceStyle;
  readonly nameShield: RequestSetting<"nameShield">;
  readonly trainedTools: RequestSetting<"trainedTools">;
  readonly limits: RequestLimits & CountedLists;
  /** Whether a tenant gets its reasoning repeated as `reasoning_content`. */
  readonly mirrorReasoning: (tenant: string) => boolean;
  /** Absent: no summaries are made. */
  readonly summaries: { readonly waitMs: number } | undefined;
  /** Called with the names of tools that the request asks for and does not get. */
  readonly onSkipped: (id: string, names: readonly string[]) => void;
  /** Yields between stages of large requests. */
  readonly pause: Pause;
  readonly now: () => number;
  /** Letters and digits, unguessable. */
  readonly randomId: () => string;
}
