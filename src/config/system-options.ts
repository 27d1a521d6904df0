/** The system message's options from the settings, for a given day. */
import type { SystemOptions } from "../harmony/messages.ts";
import type { Settings } from "./settings.ts";

export function systemOptions(settings: Settings, now: number): Omit<SystemOptions, "effort"> {
  const { identity, knowledgeCutoff, date } = settings;
  return {
    identity,
    knowledgeCutoff,
    ...(date !== "none" && {
      date: date === "today" ? new Date(now).toISOString().slice(0, 10) : date,
    }),
  };
}
