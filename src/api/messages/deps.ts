/** The dependencies of the Messages API. */
import type { RequestSetting } from "../../config/key-setting.ts";
import type { ReasoningOutcome, ReasoningStore } from "../../store/reasoning-store.ts";
import type { Pause } from "../../streams/slices.ts";
import type { OpenMedia } from "../media/open-media.ts";
import type { StreamDeps } from "../reply/stream-reply.ts";
import type { CountedLists, RequestLimits } from "../request/limits.ts";
import type { MediaRules } from "../request/media.ts";
import type { HostedDeps } from "../tools/hosted-tools.ts";
import type { FindModel } from "./find-model.ts";
import type { TurnContext } from "./to-turn.ts";
import type { ServerTools } from "./tools.ts";

export interface MessagesDeps extends StreamDeps {
  readonly findModel: FindModel;
  readonly reasoning: ReasoningStore;
  /** The system message's options from the settings, for the date of the request. */
  readonly system: (now: number) => TurnContext["system"];
  readonly nameShield: RequestSetting<"nameShield">;
  readonly limits: RequestLimits & CountedLists;
  readonly serverTools: ServerTools;
  /** Tools that the gateway runs. */
  readonly hosted: HostedDeps;
  readonly trainedTools: RequestSetting<"trainedTools">;
  /** How long an unused interpreter is kept. */
  readonly containerIdleMs: number;
  readonly media: MediaRules;
  readonly openMedia: OpenMedia;
  /** Yields between stages of large requests. */
  readonly pause: Pause;
  readonly now: () => number;
  /** Letters and digits, unguessable. */
  readonly randomId: () => string;
  /** Called with the kinds of tools and blocks that were skipped. */
  readonly onSkipped: (requestId: string, kinds: readonly string[]) => void;
  /** Called with where the reasoning of a step was found, unless `reasoning` has reported it. */
  readonly onRestored: (outcome: ReasoningOutcome) => void;
}
