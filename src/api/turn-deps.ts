/** The dependencies of each API that runs turns. */
import { createRequestSetting, type RequestSetting } from "../config/key-setting.ts";
import { systemOptions } from "../config/system-options.ts";
import type { SystemOptions } from "../harmony/messages.ts";
import type { ApiServices } from "./api.ts";
import type { StreamDeps } from "./reply/stream-reply.ts";
import type { CountedLists, RequestLimits } from "./request/limits.ts";
import { type HostedDeps, hostedDeps } from "./tools/hosted-tools.ts";

type TurnServices = Pick<
  ApiServices,
  "reasoning" | "openMedia" | "pause" | "replies" | "now" | "randomId"
>;

export interface TurnDeps extends StreamDeps, TurnServices {
  readonly limits: RequestLimits & CountedLists;
  /** The system message's options from the settings, for the date of the request. */
  readonly system: (now: number) => Omit<SystemOptions, "effort">;
  readonly nameShield: RequestSetting<"nameShield">;
  readonly trainedTools: RequestSetting<"trainedTools">;
  /** Tools that the gateway runs. */
  readonly hosted: HostedDeps;
}

export function toTurnDeps(services: ApiServices, lists: CountedLists): TurnDeps {
  const { settings, toolbox } = services;
  return {
    ...services,
    keepAliveMs: settings.keepAliveMs,
    clientIdleTimeoutMs: settings.clientIdleTimeoutMs,
    limits: { ...settings, ...lists },
    system: (now) => systemOptions(settings, now),
    nameShield: createRequestSetting(settings, "nameShield"),
    trainedTools: createRequestSetting(settings, "trainedTools"),
    hosted: hostedDeps(settings, toolbox),
  };
}
