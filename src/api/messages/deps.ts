/** The dependencies of the Messages API. */
import type { ReasoningOutcome } from "../../store/reasoning-store.ts";
import type { MediaRules } from "../request/media.ts";
import type { TurnDeps } from "../turn-deps.ts";
import type { FindModel } from "./find-model.ts";
import type { ServerTools } from "./tools.ts";

export interface MessagesDeps extends TurnDeps {
  readonly findModel: FindModel;
  readonly serverTools: ServerTools;
  /** How long an unused interpreter is kept. */
  readonly containerIdleMs: number;
  readonly media: MediaRules;
  /** Called with the kinds of tools and blocks that were skipped. */
  readonly onSkipped: (requestId: string, kinds: readonly string[]) => void;
  /** Called with where the reasoning of a step was found, unless `reasoning` has reported it. */
  readonly onRestored: (outcome: ReasoningOutcome) => void;
}
